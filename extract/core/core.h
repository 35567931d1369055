// SPDX-License-Identifier: Apache-2.0
// What is left to decide of a problem: an and-or graph that reductions shrink
// (extract/reduce/reduce.h) and exact solvers solve. A class is "or", one of its candidates; a
// candidate is "and", all that it needs. A candidate may stand for several nodes of the problem
// that are chosen together.
//
// Invariant: each answer of the core, lifted, is an answer of the problem that costs `paid` plus
// the chosen candidates; and the best of the problem is among those.
#pragma once

#include <span>
#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

struct Candidate {
  double cost = 0;
  std::vector<ClassIndex> needs;  // of the core; ascending, no two the same
  std::vector<NodeIndex> picks;   // nodes of the problem
};

struct Core {
  std::vector<std::vector<Candidate>> classes;
  std::vector<bool> required;  // per class
  double paid = 0;
  // Per class of the problem: the node that stands for it where no chosen candidate picks another.
  // For those that nothing needs any more as well, so it is followed from the roots only.
  std::vector<NodeIndex> decided;
  // Nodes of the problem of which rows speak beside the costs (extract/extractors/side_rows.h), or
  // empty. Candidates that pick them stay until the rows are applied, unless they cost too much.
  std::vector<bool> marked{};

  // The problem as it is, but for nodes that are forbidden, need their own class, or have a child
  // without a finite term; and for what the roots do not reach. Errors: bad_input when a root has
  // no finite term.
  static base::Result<Core> of(const Problem& problem);

  std::size_t candidate_count() const;
  bool is_marked(const Candidate& candidate) const;
  bool has_negative_costs() const;
  // The largest number that all costs are whole multiples of; 0 where they are no whole numbers.
  double granularity() const;
  // A bound on the cost of answers, raised to the next that an answer can have.
  double raised(double bound) const;

  // Multiplies all costs by the power of two, which is returned, that makes `whole` a cost that
  // solvers, which have absolute tolerances, tell from 0. Whole numbers stay as they are.
  double bring_to_scale(double whole);

  // The problem's choice when these candidates (an index per class, kNoNode for none) are chosen.
  std::vector<NodeIndex> lift(const Problem& problem, std::span<const NodeIndex> chosen) const;
  // Of the problem's choice what is still among the candidates; not always an answer.
  std::vector<NodeIndex> left_of(const Problem& problem, std::span<const NodeIndex> choice) const;
};

struct CoreAnswer {
  std::vector<NodeIndex> chosen;  // candidate per class; empty when none was found
  double cost = std::numeric_limits<double>::infinity();    // without Core::paid
  double bound = -std::numeric_limits<double>::infinity();  // likewise: no answer costs less
  bool proven = false;                                      // cost is the least
  std::vector<std::string> notes{};                         // see Solution
  // Candidates, as FlatCore numbers them, that no better answer has, where there are so many that
  // the solver stopped: without them the core is another one.
  std::vector<int> useless{};

  bool is_closed() const;  // no answer costs less, by the bound
};

// What required classes reach of a choice without circles (a candidate per class, kNoNode for
// none), with its cost; what is not needed costs nothing, and is left out. Nothing is chosen in the
// answer where a class that is reached has no candidate. Neither bound nor proof.
CoreAnswer needed_of(const Core& core, std::span<const NodeIndex> chosen);

// A core as a problem of its own, for extractors that know only those. Node i of it is candidate
// i - graph.class_begin[c] of class c.
struct CoreProblem {
  EGraphView graph;
  std::vector<double> costs;

  explicit CoreProblem(const Core& core);
  Problem problem() const { return {graph, costs}; }
  // An answer to it, as Core::lift() wants it, and the other way round.
  std::vector<NodeIndex> chosen(const Solution& solution) const;
  std::vector<NodeIndex> choice(std::span<const NodeIndex> chosen) const;
};

}  // namespace egret::extract

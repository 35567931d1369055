// SPDX-License-Identifier: Apache-2.0
// The undecided part of a problem: an and-or graph. Reductions shrink it (extract/reduce/reduce.h),
// and exact solvers solve it. A class is an "or" over its candidates; a candidate is an "and" over
// its needs. A candidate may represent several nodes of the problem that are chosen together.
//
// Invariant: each answer of the core, lifted, is an answer of the problem. Its cost is `paid` plus
// the costs of the chosen candidates. Some optimal answer of the problem is among the lifted ones.
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
  // For each class of the problem, the node to use unless a chosen candidate picks another. It also
  // covers classes that nothing needs any more, so only the part reached from the roots counts.
  std::vector<NodeIndex> decided;
  // Nodes of the problem that occur in side rows (extract/extractors/side_rows.h), or empty.
  // Reductions keep candidates that pick them until the rows are applied, unless they cost too
  // much.
  std::vector<bool> marked{};

  // The unreduced problem, restricted to what the roots reach. Drops nodes that are forbidden, need
  // their own class, or have a child without a finite term. Errors: bad_input if a root has no
  // finite term.
  static base::Result<Core> of(const Problem& problem);

  std::size_t candidate_count() const;
  bool is_marked(const Candidate& candidate) const;
  bool has_negative_costs() const;
  // The largest number of which all costs are integer multiples; 0 if a cost is not an integer.
  double granularity() const;
  // Raises a lower bound to the next cost that an answer can have.
  double raised(double bound) const;

  // Multiplies all costs by a power of two and returns it. Solvers have absolute tolerances; the
  // scale makes `whole` a cost well above them. Integer costs stay unchanged.
  double bring_to_scale(double whole);

  // The problem's choice for these chosen candidates (an index per class, kNoNode for none).
  std::vector<NodeIndex> lift(const Problem& problem, std::span<const NodeIndex> chosen) const;
  // The part of a choice of the problem that still exists as candidates. It need not be an answer.
  std::vector<NodeIndex> left_of(const Problem& problem, std::span<const NodeIndex> choice) const;
};

struct CoreAnswer {
  std::vector<NodeIndex> chosen;  // candidate per class; empty when none was found
  double cost = std::numeric_limits<double>::infinity();    // without Core::paid
  double bound = -std::numeric_limits<double>::infinity();  // likewise: no answer costs less
  bool proven = false;                                      // cost is the least
  std::vector<std::string> notes{};                         // see Solution
  // Candidates, numbered as in FlatCore, that no better answer contains. Set if there were so many
  // that the solver stopped: without them the core is a different, smaller problem.
  std::vector<int> useless{};

  bool is_closed() const;  // no answer costs less, by the bound
};

// The part of an acyclic choice (a candidate per class, kNoNode for none) that the required classes
// reach, with its cost. Unneeded classes are dropped and cost nothing. `chosen` is empty if a
// reached class has no candidate. Gives neither a bound nor a proof.
CoreAnswer needed_of(const Core& core, std::span<const NodeIndex> chosen);

// A core as a problem of its own, for extractors that work on problems. Its node i is candidate i -
// graph.class_begin[c] of class c.
struct CoreProblem {
  EGraphView graph;
  std::vector<double> costs;

  explicit CoreProblem(const Core& core);
  Problem problem() const { return {graph, costs}; }
  // Converts an answer of this problem to candidates as Core::lift() expects, and back.
  std::vector<NodeIndex> chosen(const Solution& solution) const;
  std::vector<NodeIndex> choice(std::span<const NodeIndex> chosen) const;
};

}  // namespace egret::extract

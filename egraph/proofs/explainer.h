// SPDX-License-Identifier: Apache-2.0
// Explains why two terms are equal: extracts proofs from an e-graph that records them.
//
//   EGraph egraph(ops);
//   egraph.enable_proofs();
//   const ClassId before = *syntax.add_term(egraph, "(/ (* x 2) 2)");
//   Runner(egraph, rules).run();
//   const ClassId after = *syntax.add_term(egraph, "x");   // an id names the term it was made with
//   const Explanation why = *explain(egraph, before, after);
//   std::puts(why.flat_text().c_str());
//
// A goal "X = Y" becomes the path between the two terms in the proof forest
// (egraph/proofs/proof_forest.h), a sequence of rules and axioms. Between two consecutive links lie
// congruent terms, whose children are goals in turn. Subgoals refer to ever earlier merges, so this
// terminates. Each goal is proven once, and proofs share their parts.
//
// With `shorten`, a goal may leave the forest. It takes the cheapest path over rules and over all
// congruences of the present e-graph, by Dijkstra's algorithm. A congruence costs as many steps as
// the forest distance between the children (the greedy algorithm of Flatt et al., Small Proofs from
// Congruence Closure, FMCAD 2022). If such a path would depend on its own goal, that goal is proven
// through the forest instead. The shorter of both proofs is kept, so the result is never longer
// than without `shorten`.
//
// Deterministic. Uses explicit stacks: proofs may be as deep as the run was long.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "egraph/core/egraph.h"
#include "egraph/proofs/explanation.h"
#include "egraph/proofs/proof_forest.h"

namespace egret::egraph {

struct ExplainOptions {
  bool shorten = false;
};

// Makes explanations of one e-graph. Later explanations reuse the results of earlier ones.
class Explainer {
 public:
  // O(log). The e-graph must outlive the explainer.
  explicit Explainer(const EGraph& egraph);

  // A proof that the terms a and b are equal. A usage error if they are not known to be equal, or
  // if the e-graph records no proofs, is not rebuilt, or changed since the explainer was made.
  base::Result<Explanation> explain(ClassId a, ClassId b, const ExplainOptions& options = {});

 private:
  using Time = ProofForest::Time;
  using Hop = ProofForest::Hop;
  enum Mode : unsigned char { kPlain, kShort };

  // A segment of a path: a link of the forest, or a pair of congruent points.
  struct Part {
    bool is_link = false;
    Hop hop{};
    PointId from;
    PointId to;
  };
  struct Goal {
    PointId x;
    PointId y;
    Mode mode = kPlain;
  };
  struct Frame {
    Goal goal;
    bool open = false;    // `parts` are known
    bool direct = false;  // there is nothing to gain: the plain proof is the short one
    std::vector<Part> parts;
  };
  struct GoalState {
    StepId step;  // valid when it is proven
    bool open = false;
  };

  base::Status check(ClassId a, ClassId b) const;
  base::Result<StepId> prove(const Goal& goal);
  base::Status open(Frame& frame);
  base::Status add_subgoals(const Frame& frame, std::vector<Goal>& missing);
  base::Status require(Goal goal, std::vector<Goal>& missing);
  base::Result<StepId> assemble(const Frame& frame);

  base::Status add_way(const Goal& goal, const std::vector<Hop>& way, std::vector<Part>& parts);
  base::Result<std::vector<Hop>> short_way(LogTerm from, LogTerm to);
  base::Result<std::uint64_t> link_cost(Time link);
  base::Result<std::uint64_t> segment_cost(PointId from, PointId to);

  base::Result<const ProofForest::Instance*> instance(Time link);
  GoalState& state(const Goal& goal);
  StepId proven(const Goal& goal);  // as a step from x to y
  StepId segment_step(const Part& part, Mode mode);
  StepId link_step(Time link, Mode mode);
  StepId chain(std::vector<StepId> steps);
  StepId reflexivity(TermId term);
  StepId reversed(StepId step);
  StepId add_step(ProofStep step);
  TermId term(PointId point);
  Explanation extract(StepId goal) const;

  const EGraph& egraph_;
  const ProofLog::Mark mark_;
  std::unique_ptr<const MergeHistory> history_;
  std::unique_ptr<ProofForest> forest_;

  TermTable terms_;
  std::vector<TermId> term_of_;  // by point
  std::vector<ProofStep> steps_;
  std::vector<std::uint64_t> lengths_;                            // of steps, flat
  boost::unordered_flat_map<std::uint64_t, GoalState> goals_[2];  // by two terms, per mode
  boost::unordered_flat_map<Time, std::unique_ptr<const ProofForest::Instance>> instances_;
  boost::unordered_flat_map<Time, std::uint64_t> link_costs_;
  boost::unordered_flat_map<Time, StepId> link_steps_[2];
  boost::unordered_flat_map<std::uint32_t, StepId> reflexivities_;  // by term
  boost::unordered_flat_map<std::uint32_t, StepId> reversed_;       // by step
};

// Makes a single explanation.
base::Result<Explanation> explain(const EGraph& egraph, ClassId a, ClassId b,
                                  const ExplainOptions& options = {});

}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
// Which of several plans to compute values again in, so that it fits.
#pragma once

#include <vector>

#include "base/status.h"
#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/plan/planner.h"

namespace egret::parallel {

// A plan that may exceed the limit of memory.
struct PlanCandidate {
  PlacedGraph program;
  double time_s = 0;
};

// Of two plans with one limit of memory: one that fits before one that does not, then the cheaper
// one, or the smaller one where none fits.
bool is_better(const ParallelPlan& a, const ParallelPlan& b);

// Replaces the plan's program by that of a candidate with recomputations, if it fits and is
// cheaper, or if the plan does not fit. Candidates that take as long as the plan without
// recomputations are not tried. Each other one takes up to choice.seconds. Errors: those of
// recomputed_program().
base::Status recompute_where_cheaper(std::vector<PlanCandidate> candidates, const Cluster& machine,
                                     const RecomputeChoice& choice, ParallelPlan& plan);

}  // namespace egret::parallel

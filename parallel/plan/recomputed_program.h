// SPDX-License-Identifier: Apache-2.0
// A placed program in which values are computed again, or copied to slower storage and back, so
// that a device needs less memory.
//
// A task is an operator, a collective or a ring; operators that run in one kernel
// (parallel/plan/fusion.h) and whose values nothing else reads are one task. A gathered weight may
// therefore be gathered again. All ranks run the same tasks, so their exchanges still match.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/status.h"
#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// Of a plan whose program computes values again.
struct PlanRecomputation {
  std::size_t computations = 0;  // tasks that run again, counted as often as they do
  std::size_t copies = 0;        // of values, back
  double time_s = 0;             // that both take, with the copies out
  // No order of this program's tasks within the limit takes less for them, whose first
  // computations come in the order of low memory (extract/recompute/methods.h).
  double bound_s = 0;
  double placed_time_s = 0;  // of the plan without them, which exceeds the limit
};

struct RecomputedProgram {
  PlacedGraph program;  // in order; peak_bytes() is at most the limit
  PlanRecomputation recomputation{};
  double memory_bytes = 0;
};

struct RecomputeChoice {
  std::string method = "search";  // one of extract::recompute_methods()
  double seconds = 10;
  double storage_bytes_per_second = 0;  // of copies out and back; 0: none
};

// Nothing where no such program was found within the limit, in bytes of a device. The program may
// compute each value once, in another order. Deterministic where the time suffices. Errors: those
// of prices and of extract::recompute().
base::Result<std::optional<RecomputedProgram>> recomputed_program(const PlacedGraph& graph,
                                                                  const Cluster& machine,
                                                                  double limit_bytes,
                                                                  const RecomputeChoice& choice);

}  // namespace egret::parallel

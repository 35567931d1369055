// SPDX-License-Identifier: Apache-2.0
// The decision between the original and the candidates: by a race, where measuring is possible.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/timing/measure.h"
#include "base/progress.h"
#include "base/status.h"
#include "driver/measure/profile_race.h"
#include "driver/optimize.h"
#include "driver/select/candidate.h"
#include "driver/setup.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct Decision {
  ir::Graph graph;
  std::unique_ptr<backends::ExecutablePlan> plan;  // of the graph; null: it cannot be run here
  // Of the original, with --quick and in an engine.
  std::unique_ptr<backends::ExecutablePlan> plan_before;
  bool is_uncheckable = false;            // Track::is_uncheckable()
  const Candidate* chosen = nullptr;      // of the candidates given, moved from; null: the original
  bool measured = false;                  // the times below are
  std::vector<backends::Timing> timings;  // the original's, then one a candidate
  std::size_t winner = 0;                 // index of timings
  KernelPrediction kernels_before;        // of the original, where candidates are so predicted
  std::map<std::string, int> operators_before;
  std::int64_t arena_before = 0;  // bytes of activations and scratch space
  std::int64_t arena_after = 0;
  bool out_of_memory = false;          // the original's plan does not fit into memory
  std::vector<ProfileTimes> profiles;  // of the result, where open sizes have several profiles
  std::vector<std::string> notes;
};

// `original` is `program` as it is run: runnable() of it. With several profiles of open sizes a
// result must be no slower at any of them. It is always in the race. Where its plan does not fit
// into memory nothing can be measured or checked: the graph stays as it is, unless
// --no-check or --forbid ask for another. Errors: of compiling and measuring; limit_hit where a
// forbidden operator would have to stay.
base::Result<Decision> decide(const ir::Graph& program, const ir::Graph& original,
                              std::vector<Candidate>& candidates, const Setup& setup,
                              const OptimizeOptions& options, base::ProgressSink* progress,
                              const rules::OpenSizes* open = nullptr);

// Whether a step failed because a stop was requested (base/stop.h).
bool is_interrupted(const base::Status& failure);
// What an interrupted run knows to be right: the original. `failure`: of the step that was
// interrupted. Errors: that failure, where the original may not be written.
base::Status keep_what_is_known(const ir::Graph& original, const Setup& setup,
                                const base::Status& failure, Decision& decision);

}  // namespace egret::driver

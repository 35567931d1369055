// SPDX-License-Identifier: Apache-2.0
// The last word on speed: the original and the candidates run in turns on the backend, and the
// fastest wins.
//
// Two plans of the same kernels differ by a percent or two from one race to the next. Within that
// noise the graph with the fewest operators is preferred, a candidate to the original where they
// have as many: no graph grows without a gain.
//
// On a busy machine the ratios of a race vary by far more. A winner that may be slower than the
// original by chance runs against it alone, so that no candidate wins because it is one of many.
//
// With a cost database the times are kept there under the names of the graphs that ran, so that the
// same model, options, given inputs and database give the same result again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/timing/measure.h"
#include "base/status.h"
#include "base/stop.h"
#include "cost/database.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// Names a graph in the database: equal graphs have equal identities. O(nodes and weights).
std::string identity_of(const ir::Graph& graph);

// Two runs of one graph differ by so much of their time.
inline constexpr double kRaceNoise = 0.02;

// Whether a candidate is faster than the original, beyond noise and chance.
inline bool is_faster(const backends::Gain& gain) {
  return gain.ratio > 1 + kRaceNoise && gain.low > 1;
}

struct Racer {
  backends::ExecutablePlan* plan = nullptr;
  std::string identity;
  int operators = 0;  // breaks ties
};

struct RaceOptions {
  backends::MeasureOptions measure{.should_stop = base::stop_requested};
  cost::Database* database = nullptr;  // null: nothing is kept
  std::string machine;                 // whose times the database keeps
  std::string where{};                 // the engine that runs the plans; empty: the backend
  // Whether other processes disturbed the race, asked before and after it; empty: they did not.
  std::function<bool()> disturbed{};
};

struct RaceResult {
  std::vector<backends::Timing> timings;  // one a racer
  std::size_t winner = 0;
};

// What a race of the same graphs gave, where it is kept. Needs no plans.
base::Result<std::optional<RaceResult>> remembered_race(std::span<const Racer> racers,
                                                        const RaceOptions& options);

// The first racer is the original. Errors: what the plans report.
base::Result<RaceResult> race(std::span<const Racer> racers, const RaceOptions& options);

// Who wins, given gains over the original, the first. A candidate that is slower beyond chance does
// not, however small the difference. Exposed for its test.
std::size_t winner_of(std::span<const backends::Gain> gains, std::span<const int> operators);

}  // namespace egret::driver

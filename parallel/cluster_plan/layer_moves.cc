// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/layer_moves.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/system/thread_pool.h"

namespace egret::parallel {
namespace {

constexpr int kMostRounds = 6;
constexpr std::size_t kMostMoves = 48, kLeastMoves = 8;  // of a round
constexpr double kMostTasks = 2e6;                       // simulated in a round, about
constexpr double kLeastGain = 1e-6;                      // of the step

std::vector<std::pair<std::size_t, std::size_t>> moves_of(std::size_t stages, std::size_t most) {
  std::set<std::pair<std::size_t, std::size_t>> moves;
  const auto both = [&](std::size_t a, std::size_t b) {
    if (a == b) return;
    moves.emplace(a, b);
    moves.emplace(b, a);
  };
  for (std::size_t s = 0; s < stages; ++s) {
    if (s + 1 < stages) both(s, s + 1);
    both(0, s);
    both(s, stages - 1);
  }
  std::vector<std::pair<std::size_t, std::size_t>> result(moves.begin(), moves.end());
  if (result.size() > most) {
    // Evenly thinned.
    std::vector<std::pair<std::size_t, std::size_t>> some;
    for (std::size_t i = 0; i < most; ++i) some.push_back(result[i * result.size() / most]);
    result = std::move(some);
  }
  return result;
}

}  // namespace

PlannedStep with_moved_layers(const PlanTrials& trials, const PlannedStep& step) {
  PlannedStep best = step;
  const PlanFrame& frame = step.frame;
  if (frame.pipeline == 1 || frame.chunks_of_rank() > 1) return best;
  const StagePrices& prices = trials.prices();
  const auto affordable = static_cast<std::size_t>(kMostTasks / trials.tasks(frame));
  const auto moves = moves_of(static_cast<std::size_t>(frame.pipeline),
                              std::clamp(affordable, kLeastMoves, kMostMoves));
  for (int round = 0; round < kMostRounds && !trials.stopped(); ++round) {
    std::vector<std::optional<PlannedStep>> steps(moves.size());
    base::shared_pool().parallel_for(moves.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end && !trials.stopped(); ++i) {
        std::vector<ChunkLayers> chunks = best.chunks;
        const auto& [from, to] = moves[i];
        if (chunks[from].all() == 1) continue;
        bool possible = true;
        for (const auto& [stage, change] : {std::pair(from, -1), std::pair(to, 1)}) {
          const auto rank = static_cast<std::int64_t>(stage);
          std::int64_t before = 0;
          for (std::size_t s = 0; s < stage; ++s) before += chunks[s].all();
          const auto price = prices.rank(frame, rank, chunks[stage].all() + change,
                                         prices.memory_of(frame, rank), before);
          possible = possible && price;
          if (price) chunks[stage] = price->layers;
        }
        if (possible) steps[i] = trials.simulate(frame, chunks);
      }
    });
    const double before = best.seconds;
    for (const auto& one : steps) {
      if (one && one->fits() && one->seconds < best.seconds * (1 - kLeastGain)) {
        const double bound = best.bound_s;
        best = *one;
        best.bound_s = bound;
      }
    }
    if (best.seconds == before) break;
  }
  return best;
}

}  // namespace egret::parallel

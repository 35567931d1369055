// SPDX-License-Identifier: Apache-2.0
// A plan of generation with weights, caches and activations on the accelerator, in the memory of
// its host and on disk, and what is known about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallel/offload/block_costs.h"
#include "parallel/offload/generation_simulation.h"
#include "parallel/offload/whole_placement.h"

namespace egret::parallel {

struct OffloadPolicy {
  BlockChoice choice;
  WholePlacement placement{};
  double bound_s = 0;                     // of all fractions with this choice; 0: none was computed
  double priced_s = 0;                    // as FlexGen prices it
  GenerationRun run{};                    // simulated
  std::array<double, 3> peak_bytes = {};  // by place
  bool fits = true;
  double tokens_per_s = 0;  // generated, over prefill and decoding

  // In the prefill and in decoding.
  Resource busiest(bool decoding) const;
};

struct OffloadRule {
  std::string name, method;
  std::optional<OffloadPolicy> policy;  // nothing: no block fits
};

// The best policy with another value of one choice.
struct OffloadRunnerUp {
  std::string choice, value, other;
  OffloadPolicy policy;
};

struct OffloadCounts {
  std::int64_t choices = 0;   // blocks that were looked at
  std::int64_t programs = 0;  // linear programs
  std::int64_t simulations = 0;
};

struct OffloadPlan {
  GenerationSetup setup;
  OffloadPolicy best;
  double bound_tokens_per_s = 0;       // no policy of the searched blocks has more
  std::vector<OffloadPolicy> ranking;  // from the best
  std::vector<OffloadRule> rules;
  std::vector<OffloadRunnerUp> runners_up;
  OffloadCounts counts;
  double seconds = 0;       // spent planning
  std::string stop_reason;  // "bound", "simulations", "signal"
  double gap() const {
    return best.tokens_per_s > 0 ? bound_tokens_per_s / best.tokens_per_s - 1 : 0;
  }
};

// "batch 48 x 3, attention on the cores".
std::string to_string(const BlockChoice& choice);
// "20% accelerator, 80% host".
std::string places_text(const Fractions& fractions, Value value);

}  // namespace egret::parallel

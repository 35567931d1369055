// SPDX-License-Identifier: Apache-2.0
// Generation by a mixture of experts that exceeds the accelerator's memory: which experts live on
// the accelerator, and where the others are computed.
//
// Everything but experts is on the accelerator, and so are the caches. The memory that is left
// holds experts. A layer cannot begin before the one before has ended, and its experts are known
// only then, so the expected time is the sum over layers of the expected time of each
// (expert_times.h). A dynamic program over the layers finds how many experts of each layer live on
// the accelerator, the most popular ones first. It is exact for such placements.
//
// Rules of other systems under the same prices:
//   fiddler          the most popular experts of all layers; each missing one goes where it alone
//                    takes less (Kamahori et al., 2024)
//   copy-missing     the same placement; all missing experts are copied (Eliseev and Mazur,
//                    "Mixtral-offloading", 2023, without its quantization)
//   copy-all         all experts of all layers are copied in each pass (DeepSpeed-MII, ZeRO-3)
//   whole-layers     as many layers as fit are on the accelerator; the cores compute the others
//                    in full (llama.cpp)
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "parallel/offload/expert_draws.h"
#include "parallel/offload/expert_times.h"

namespace egret::parallel {

// Expected values.
struct ExpertSpeed {
  double prefill_s = 0;      // until the first tokens
  double decode_step_s = 0;  // mean of the later ones
  double seconds = 0;        // of all
  double tokens_per_s = 0;   // generated, over both
  // Of a decoding step in all layers: experts that are copied, on the cores, and chosen at all.
  double copied = 0, on_cores = 0, active = 0;
};

struct ExpertPolicy {
  std::string name, method;
  // Experts of each layer on the accelerator, the most popular ones first; for whole-layers all or
  // none.
  std::vector<std::int64_t> resident;
  ExpertSpeed speed{};
  double device_bytes = 0, host_bytes = 0;
  bool exists = true;  // it fits into memory
};

struct ExpertPlan {
  GenerationSetup setup;
  std::int64_t batch = 1;
  std::int64_t slots = 0;  // experts that fit on the accelerator
  double expert_bytes = 0;
  double copy_s = 0;           // of an expert
  double cores_s = 0;          // of an expert with one token
  std::int64_t crossover = 0;  // tokens from which on copying takes less; 0: never
  ExpertPolicy best;
  std::vector<ExpertPolicy> rules;
  double seconds = 0;  // spent planning
};

// The number of experts of each layer that minimizes the sum of COSTS[layer][experts], with at most
// SLOTS in all. O(layers x slots x experts).
std::vector<std::int64_t> divide_slots(const std::vector<std::vector<double>>& costs,
                                       std::int64_t slots);

// Errors: usage, for a setup that makes no sense or a system without a host; bad_input, for a file
// of popularity; limit, where even without experts the accelerator's memory is too small, or the
// host's for the experts, and on base::stop_requested().
base::Result<ExpertPlan> plan_experts(const HostedSystem& system, const GenerationSetup& setup);

}  // namespace egret::parallel

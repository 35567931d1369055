// SPDX-License-Identifier: Apache-2.0
// The policies of other systems, under the prices of this machine. Each rule takes the batch that
// it prices best.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "parallel/offload/offload_plan.h"

namespace egret::parallel {

struct RuleCandidate {
  BlockChoice choice;
  WholePlacement placement;
};
struct RuleRow {
  std::string_view name, method;
  // The policies of the rule for one number of sequences; those that do not fit are left out later.
  std::vector<RuleCandidate> (*candidates)(const HostedSystem& system, const GenerationSetup& setup,
                                           std::int64_t batch);
};

//   accelerator     everything on the accelerator
//   zero-inference  all weights on the host, or on disk where they do not fit; caches and
//                   activations on the accelerator; a block of one batch (Aminabadi et al.,
//                   "DeepSpeed Inference", SC 2022)
//   accelerate      whole layers in order on accelerator, host and disk, loaded when they are
//                   computed (Hugging Face Accelerate, device_map = "auto")
//   host            everything on the host, with attention on its cores: --percent 0 100 0 100 0
//                   100 of FlexGen, for blocks of several sizes
std::span<const RuleRow> offload_rules();

}  // namespace egret::parallel

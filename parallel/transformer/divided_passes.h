// SPDX-License-Identifier: Apache-2.0
// Passes under ZeRO-2 and 3 (Rajbhandari et al., "ZeRO", 2020), whose exchanges belong to each
// micro-batch: gradients of a layer are scattered after its backward pass, and under ZeRO-3 the
// weights of a layer are gathered before both of its passes, one layer ahead.
#pragma once

#include <span>

#include "parallel/transformer/stage_costs.h"

namespace egret::parallel {

// Whether any weights lie on several ranks, which can divide them.
bool has_copies(const TrainingSetup& setup);

// Seconds in which a pipeline rank with these stages, priced layer by layer, computes so many
// micro-batches, each forward and then backward. The exchanges of gradients run beside computation
// with setup.overlap_gradients, and those of weights always. From the fourth micro-batch on, each
// takes as long as the one before. ZERO: 2 or 3. O(layers).
double divided_passes_s(const System& system, const TrainingSetup& setup, std::int64_t zero,
                        std::span<const StageCosts> stages, std::int64_t micro_batches);

// Of weights that ZeRO-3 gathers, on a device at most: those of two neighbouring layers.
double gathered_bytes(const TrainingSetup& setup, std::span<const StageCosts> stages);

}  // namespace egret::parallel

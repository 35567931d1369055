// SPDX-License-Identifier: Apache-2.0
// Whether a library's attention is attention: run once and compared with arithmetic on the host.
#pragma once

#include "backends/cuda/steps/attention.h"

namespace egret::backends::cuda {

// Writes random numbers into what is not fixed of the inputs, runs the step, and compares some rows
// of the result, of the first and last heads among them, within what 16 bits round. False also
// where a query, key or value is fixed. Time: copies of all that it reads, and of those rows
// columns times widths.
base::Result<bool> computes_attention(const Device& device, const Attention& attention,
                                      const LibraryStep& step, const TrialMemory& memory);

}  // namespace egret::backends::cuda

// SPDX-License-Identifier: Apache-2.0
// Checks a library's attention: runs it once and compares it with arithmetic on the host.
#pragma once

#include "backends/cuda/steps/attention.h"

namespace egret::backends::cuda {

// Writes random numbers into the inputs that are not fixed, runs the step, and compares some rows
// of the result, including rows of the first and last heads, within the rounding of 16 bits. False
// also where a query, key or value is fixed. Time: copies of all inputs, and for those rows columns
// times widths.
base::Result<bool> computes_attention(const Device& device, const Attention& attention,
                                      const LibraryStep& step, const TrialMemory& memory);

}  // namespace egret::backends::cuda

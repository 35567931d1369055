// SPDX-License-Identifier: Apache-2.0
// The part of softmax that takes its time, for kernels that have a row in the cache.
#pragma once

#include <cstdint>

namespace egret::backends::cpu {

// y[i] = exp(x[i] - max x) of a row of n > 0 elements, and their sum. May work in place.
float exponentials(const float* x, float* y, std::int64_t n);

}  // namespace egret::backends::cpu

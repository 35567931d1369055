// SPDX-License-Identifier: Apache-2.0
// Inner loops of local response normalization: y = x / (bias + scale * squares)^beta, where squares
// is the sum of x^2 over `size` neighbouring channels, (size - 1) div 2 of them before.
#pragma once

#include <cstdint>

namespace egret::backends::cpu {

struct ResponseNorm {
  std::int64_t channels = 1, size = 1;
  float scale = 0, beta = 0, bias = 1;

  std::int64_t before() const { return (size - 1) / 2; }
};

// Channels are `stride` elements apart: `n` neighbouring positions of all of them.
void normalize_positions(const ResponseNorm& norm, const float* x, std::int64_t stride,
                         std::int64_t n, float* y);
// One position. Channels lie in groups of `lanes`, which are `stride` elements apart. `scratch` has
// 2 * channels + size elements.
void normalize_channels(const ResponseNorm& norm, const float* x, std::int64_t lanes,
                        std::int64_t stride, float* scratch, float* y);

}  // namespace egret::backends::cpu

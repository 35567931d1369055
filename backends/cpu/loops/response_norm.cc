// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/response_norm.h"

#include <algorithm>

#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kChunk = 256;

// base^-beta. Published networks have a beta of 3/4, for which roots do.
EGRET_VECTOR_INLINE void powers_of(const float* squares, const ResponseNorm& norm, std::int64_t n,
                                   float* to) {
  const float scale = norm.scale, bias = norm.bias, beta = norm.beta;
  if (beta == 0.75F) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
      const float root = __builtin_sqrtf(bias + scale * squares[i]);
      to[i] = 1.0F / (root * __builtin_sqrtf(root));
    }
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i)
      to[i] = vector::exp(-beta * vector::log(bias + scale * squares[i]));
  }
}

EGRET_VECTOR_INLINE void multiply(const float* a, const float* b, std::int64_t n, float* to) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = a[i] * b[i];
}

// Squares of one channel, added to sums.
EGRET_VECTOR_INLINE void add_squares(const float* x, std::int64_t n, float* sums) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) sums[i] += x[i] * x[i];
}

}  // namespace

EGRET_VECTOR_CLONES void normalize_positions(const ResponseNorm& norm, const float* x,
                                             std::int64_t stride, std::int64_t n, float* y) {
  float sums[kChunk];
  for (std::int64_t first = 0; first < n; first += kChunk) {
    const std::int64_t count = std::min(kChunk, n - first);
    for (std::int64_t c = 0; c < norm.channels; ++c) {
      const std::int64_t begin = std::max<std::int64_t>(0, c - norm.before());
      const std::int64_t end = std::min(norm.channels, c - norm.before() + norm.size);
      std::fill_n(sums, count, 0.0F);
      for (std::int64_t k = begin; k < end; ++k) add_squares(x + k * stride + first, count, sums);
      powers_of(sums, norm, count, sums);
      multiply(x + c * stride + first, sums, count, y + c * stride + first);
    }
  }
}

EGRET_VECTOR_CLONES void normalize_channels(const ResponseNorm& norm, const float* x,
                                            std::int64_t lanes, std::int64_t stride, float* scratch,
                                            float* y) {
  // Zeros stand for the channels before the first and behind the last one.
  float* const squares = scratch;
  float* const sums = scratch + norm.channels + norm.size;
  std::fill_n(squares, norm.before(), 0.0F);
  std::fill_n(squares + norm.before() + norm.channels, norm.size - norm.before(), 0.0F);
  for (std::int64_t c = 0; c < norm.channels; c += lanes) {
    const float* const group = x + c / lanes * stride;
    float* const to = squares + norm.before() + c;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < lanes; ++i) to[i] = group[i] * group[i];
  }
  std::copy_n(squares, norm.channels, sums);
  for (std::int64_t k = 1; k < norm.size; ++k) {
    const float* const shifted = squares + k;
#pragma GCC ivdep
    for (std::int64_t c = 0; c < norm.channels; ++c) sums[c] += shifted[c];
  }
  powers_of(sums, norm, norm.channels, sums);
  for (std::int64_t c = 0; c < norm.channels; c += lanes)
    multiply(x + c / lanes * stride, sums + c, lanes, y + c / lanes * stride);
}

}  // namespace egret::backends::cpu

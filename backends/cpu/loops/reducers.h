// SPDX-License-Identifier: Apache-2.0
// The inner loops of sums, maxima and minima.
#pragma once

#include <cstdint>

#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {

enum class Reducer : std::uint8_t { kSum, kMax, kMin };

// Accumulators of one contiguous run.
inline constexpr std::int64_t kReducerLanes = 32;

// The value that changes no other.
float neutral(Reducer reducer);
EGRET_VECTOR_INLINE float combine(Reducer reducer, float a, float b) {
  switch (reducer) {
    case Reducer::kSum: return a + b;
    case Reducer::kMax: return vector::max(a, b);
    case Reducer::kMin: return vector::min(a, b);
  }
  return 0;
}

// acc[i] with x[i], for i < n.
void accumulate(Reducer reducer, float* acc, const float* x, std::int64_t n);
// The same for lines of n elements each, `stride` apart. A block of columns stays in registers over
// all lines.
void accumulate_lines(Reducer reducer, float* acc, const float* x, std::int64_t n,
                      std::int64_t lines, std::int64_t stride);
// A contiguous run into kReducerLanes accumulators, in one call: runs may be short and many.
void accumulate_run(Reducer reducer, float* acc, const float* x, std::int64_t n);
// The sum of so many accumulators in f64.
double sum_of_lanes(const float* acc);
// The sum of one contiguous run, in one call; its accumulators are f32.
double sum_of_run(const float* x, std::int64_t n);

}  // namespace egret::backends::cpu

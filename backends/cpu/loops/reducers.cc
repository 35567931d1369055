// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/reducers.h"

#include <limits>

#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kLanes = kReducerLanes;

template <Reducer kReducer>
EGRET_VECTOR_INLINE void accumulate_as(float* acc, const float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) acc[i] = combine(kReducer, acc[i], x[i]);
}

template <Reducer kReducer>
EGRET_VECTOR_INLINE void accumulate_lines_as(float* __restrict acc, const float* __restrict x,
                                             std::int64_t n, std::int64_t lines,
                                             std::int64_t stride) {
  constexpr std::int64_t kColumns = 16;
  std::int64_t first = 0;
  for (; first + kColumns <= n; first += kColumns) {
    float block[kColumns];
    for (std::int64_t i = 0; i < kColumns; ++i) block[i] = acc[first + i];
    for (std::int64_t line = 0; line < lines; ++line) {
      for (std::int64_t i = 0; i < kColumns; ++i)
        block[i] = combine(kReducer, block[i], x[line * stride + first + i]);
    }
    for (std::int64_t i = 0; i < kColumns; ++i) acc[first + i] = block[i];
  }
  for (std::int64_t line = 0; line < lines; ++line)
    accumulate_as<kReducer>(acc + first, x + line * stride + first, n - first);
}

template <Reducer kReducer>
EGRET_VECTOR_INLINE void accumulate_run_as(float* __restrict acc, const float* __restrict x,
                                           std::int64_t n) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) accumulate_as<kReducer>(acc, x + i, kLanes);
  accumulate_as<kReducer>(acc, x + i, n - i);  // the rest of the run uses the first lanes
}

// The sum of kLanes accumulators in f64, as a tree: a chain of additions would wait for each.
template <std::int64_t kWidth>
EGRET_VECTOR_INLINE double tree_sum(double* sums) {
  if constexpr (kWidth == 1) {
    return sums[0];
  } else {
    for (std::int64_t i = 0; i < kWidth / 2; ++i) sums[i] += sums[i + kWidth / 2];
    return tree_sum<kWidth / 2>(sums);
  }
}

EGRET_VECTOR_INLINE double sum_of(const float* acc) {
  double sums[kLanes];
  for (std::int64_t i = 0; i < kLanes; ++i) sums[i] = acc[i];
  return tree_sum<kLanes>(sums);
}

}  // namespace

// The reducer is a template argument inside the loop, so that each loop is one vector instruction.
EGRET_VECTOR_CLONES void accumulate(Reducer reducer, float* acc, const float* x, std::int64_t n) {
  switch (reducer) {
    case Reducer::kSum: return accumulate_as<Reducer::kSum>(acc, x, n);
    case Reducer::kMax: return accumulate_as<Reducer::kMax>(acc, x, n);
    case Reducer::kMin: return accumulate_as<Reducer::kMin>(acc, x, n);
  }
}

EGRET_VECTOR_CLONES void accumulate_lines(Reducer reducer, float* acc, const float* x,
                                          std::int64_t n, std::int64_t lines, std::int64_t stride) {
  switch (reducer) {
    case Reducer::kSum: return accumulate_lines_as<Reducer::kSum>(acc, x, n, lines, stride);
    case Reducer::kMax: return accumulate_lines_as<Reducer::kMax>(acc, x, n, lines, stride);
    case Reducer::kMin: return accumulate_lines_as<Reducer::kMin>(acc, x, n, lines, stride);
  }
}

EGRET_VECTOR_CLONES void accumulate_run(Reducer reducer, float* acc, const float* x,
                                        std::int64_t n) {
  switch (reducer) {
    case Reducer::kSum: return accumulate_run_as<Reducer::kSum>(acc, x, n);
    case Reducer::kMax: return accumulate_run_as<Reducer::kMax>(acc, x, n);
    case Reducer::kMin: return accumulate_run_as<Reducer::kMin>(acc, x, n);
  }
}

EGRET_VECTOR_CLONES double sum_of_lanes(const float* acc) { return sum_of(acc); }

EGRET_VECTOR_CLONES double sum_of_run(const float* x, std::int64_t n) {
  float acc[kLanes] = {};
  accumulate_run_as<Reducer::kSum>(acc, x, n);
  return sum_of(acc);
}

float neutral(Reducer reducer) {
  switch (reducer) {
    case Reducer::kSum: return 0;
    case Reducer::kMax: return -std::numeric_limits<float>::infinity();
    case Reducer::kMin: return std::numeric_limits<float>::infinity();
  }
  return 0;
}

}  // namespace egret::backends::cpu

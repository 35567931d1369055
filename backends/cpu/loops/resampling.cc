// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/resampling.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {
namespace {

EGRET_VECTOR_CLONES void scale_row(const float* a, float wa, float* to, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t k = 0; k < n; ++k) to[k] = wa * a[k];
}

EGRET_VECTOR_CLONES void add_rows(const float* a, float wa, const float* b, float wb, float* to,
                                  std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t k = 0; k < n; ++k) to[k] = wa * a[k] + wb * b[k];
}

EGRET_VECTOR_CLONES void add_to_row(const float* a, float wa, float* to, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t k = 0; k < n; ++k) to[k] += wa * a[k];
}

// Two taps of single elements.
EGRET_VECTOR_CLONES void add_elements(const float* row, const std::int32_t* from_a, const float* wa,
                                      const std::int32_t* from_b, const float* wb, float* to,
                                      std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = wa[i] * row[from_a[i]] + wb[i] * row[from_b[i]];
}

EGRET_VECTOR_CLONES void scale_elements(const float* row, const std::int32_t* from,
                                        const float* weight, float* to, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = weight[i] * row[from[i]];
}

EGRET_VECTOR_CLONES void add_to_elements(const float* row, const std::int32_t* from,
                                         const float* weight, float* to, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] += weight[i] * row[from[i]];
}

EGRET_VECTOR_CLONES void copy_elements(const float* row, const std::int32_t* from, float* to,
                                       std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = row[from[i]];
}

// Each element `Times` times.
template <int Times>
EGRET_VECTOR_INLINE void repeat_each(const float* row, float* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (int r = 0; r < Times; ++r) to[i * Times + r] = row[i];
  }
}

EGRET_VECTOR_CLONES void repeat_twice(const float* row, float* to, std::int64_t n) {
  repeat_each<2>(row, to, n);
}

EGRET_VECTOR_CLONES void repeat_four_times(const float* row, float* to, std::int64_t n) {
  repeat_each<4>(row, to, n);
}

void resample_elements(const Resampling& axis, const float* row, float* to) {
  const auto& taps = axis.taps;
  const float* const w = taps[0].weight.data();
  const std::int32_t* const from = taps[0].from.data();
  if (axis.repeats == 2) return repeat_twice(row, to, axis.in);
  if (axis.repeats == 4) return repeat_four_times(row, to, axis.in);
  if (axis.copies) return copy_elements(row, from, to, axis.out);
  std::size_t next = 2;
  if (taps.size() > 1) {
    add_elements(row, from, w, taps[1].from.data(), taps[1].weight.data(), to, axis.out);
  } else {
    scale_elements(row, from, w, to, axis.out);
  }
  for (; next < taps.size(); ++next)
    add_to_elements(row, taps[next].from.data(), taps[next].weight.data(), to, axis.out);
}

}  // namespace

bool Resampling::is_as_before(std::int64_t i) const {
  const auto at = static_cast<std::size_t>(i);
  return i > 0 && std::ranges::all_of(taps, [&](const Tap& tap) {
           return tap.from[at] == tap.from[at - 1] && tap.weight[at] == tap.weight[at - 1];
         });
}

void resample_rows(const Resampling& axis, std::int64_t place, const float* rows, float* to,
                   std::int64_t n) {
  const auto at = static_cast<std::size_t>(place);
  const auto row = [&](std::size_t tap) { return rows + axis.taps[tap].from[at] * n; };
  const auto weight = [&](std::size_t tap) { return axis.taps[tap].weight[at]; };
  if (axis.copies) {
    std::memcpy(to, row(0), static_cast<std::size_t>(n) * sizeof(float));
    return;
  }
  if (axis.taps.size() == 1) return scale_row(row(0), weight(0), to, n);
  add_rows(row(0), weight(0), row(1), weight(1), to, n);
  for (std::size_t tap = 2; tap < axis.taps.size(); ++tap) add_to_row(row(tap), weight(tap), to, n);
}

void resample_row(const Resampling& axis, const float* row, float* to, std::int64_t width) {
  if (width == 1) return resample_elements(axis, row, to);
  for (std::int64_t i = 0; i < axis.out; ++i, to += width) {
    if (axis.is_as_before(i)) {
      std::memcpy(to, to - width, static_cast<std::size_t>(width) * sizeof(float));
    } else {
      resample_rows(axis, i, row, to, width);
    }
  }
}

}  // namespace egret::backends::cpu

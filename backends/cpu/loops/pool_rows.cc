// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/loops/pool_rows.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/loops/vector_math.h"

namespace egret::backends::cpu {
namespace {

// Elements of a line that stay in the first-level cache while they are folded once more.
constexpr std::int64_t kChunk = 1024;
constexpr std::int64_t kFewWindows = 4;

struct Maximum {
  EGRET_VECTOR_INLINE float of(float a, float b) { return vector::max(a, b); }
};
struct Sum {
  EGRET_VECTOR_INLINE float of(float a, float b) { return a + b; }
};

template <typename Fold>
EGRET_VECTOR_INLINE void fold_two(const float* a, const float* b, std::int64_t n, float* to) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = Fold::of(a[i], b[i]);
}
template <typename Fold>
EGRET_VECTOR_INLINE void fold_three(const float* a, const float* b, const float* c, std::int64_t n,
                                    float* to) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = Fold::of(Fold::of(a[i], b[i]), c[i]);
}

// There are two rows at least.
template <typename Fold>
EGRET_VECTOR_INLINE void fold_rows(const float* const* rows, std::int64_t count, std::int64_t n,
                                   float* to) {
  std::int64_t next = 2;
  if (count == 2) {
    fold_two<Fold>(rows[0], rows[1], n, to);
  } else {
    fold_three<Fold>(rows[0], rows[1], rows[2], n, to);
    next = 3;
  }
  for (; next + 2 <= count; next += 2) fold_three<Fold>(to, rows[next], rows[next + 1], n, to);
  if (next < count) fold_two<Fold>(to, rows[next], n, to);
}

// Windows of two and three elements, at strides that the compiler knows: their loads are shuffles.
template <typename Fold, int kKernel, int kStride>
EGRET_VECTOR_INLINE void fold_narrow(const float* line, std::int64_t out, float* to) {
#pragma GCC ivdep
  for (std::int64_t x = 0; x < out; ++x) {
    const float pair = Fold::of(line[x * kStride], line[x * kStride + 1]);
    to[x] = kKernel == 2 ? pair : Fold::of(pair, line[x * kStride + 2]);
  }
}

template <typename Fold, int kStride>
EGRET_VECTOR_INLINE void fold_wide(const PoolLine& shape, const float* line, float* to) {
  const std::int64_t stride = kStride > 0 ? kStride : shape.stride;
  for (std::int64_t first = 0; first < shape.out; first += kChunk) {
    const std::int64_t n = std::min(kChunk, shape.out - first);
    const float* const from = line + first * stride;
#pragma GCC ivdep
    for (std::int64_t x = 0; x < n; ++x) to[first + x] = from[x * stride];
    for (std::int64_t k = 1; k < shape.kernel; ++k) {
      const float* const tap = from + k * shape.dilation;
#pragma GCC ivdep
      for (std::int64_t x = 0; x < n; ++x) to[first + x] = Fold::of(to[first + x], tap[x * stride]);
    }
  }
}

// Few windows: one after the other.
template <typename Fold>
EGRET_VECTOR_INLINE void fold_each(const PoolLine& shape, const float* line, float* to) {
  for (std::int64_t x = 0; x < shape.out; ++x) {
    const float* const first = line + x * shape.stride;
    float folded = first[0];
    for (std::int64_t k = 1; k < shape.kernel; ++k)
      folded = Fold::of(folded, first[k * shape.dilation]);
    to[x] = folded;
  }
}

template <typename Fold>
EGRET_VECTOR_INLINE void fold_line(const PoolLine& shape, const float* line, float* to) {
  if (shape.out < kFewWindows) return fold_each<Fold>(shape, line, to);
  const bool narrow = shape.dilation == 1 && (shape.kernel == 2 || shape.kernel == 3);
  if (narrow && shape.stride == 1) {
    if (shape.kernel == 2) return fold_narrow<Fold, 2, 1>(line, shape.out, to);
    return fold_narrow<Fold, 3, 1>(line, shape.out, to);
  }
  if (narrow && shape.stride == 2) {
    if (shape.kernel == 2) return fold_narrow<Fold, 2, 2>(line, shape.out, to);
    return fold_narrow<Fold, 3, 2>(line, shape.out, to);
  }
  if (shape.stride == 1) return fold_wide<Fold, 1>(shape, line, to);
  if (shape.stride == 2) return fold_wide<Fold, 2>(shape, line, to);
  return fold_wide<Fold, 0>(shape, line, to);
}

EGRET_VECTOR_CLONES void maxima_of_rows(const float* const* rows, std::int64_t count,
                                        std::int64_t n, float* to) {
  fold_rows<Maximum>(rows, count, n, to);
}
EGRET_VECTOR_CLONES void sums_of_rows(const float* const* rows, std::int64_t count, std::int64_t n,
                                      float* to) {
  fold_rows<Sum>(rows, count, n, to);
}
EGRET_VECTOR_CLONES void maxima_of_line(const PoolLine& shape, const float* line, float* to) {
  fold_line<Maximum>(shape, line, to);
}
EGRET_VECTOR_CLONES void sums_of_line(const PoolLine& shape, const float* line, float* to) {
  fold_line<Sum>(shape, line, to);
}

void fold(const float* const* rows, std::int64_t count, std::int64_t n, float* to, bool maximum) {
  if (maximum) {
    maxima_of_rows(rows, count, n, to);
  } else {
    sums_of_rows(rows, count, n, to);
  }
}

float neutral(bool maximum) { return maximum ? -std::numeric_limits<float>::infinity() : 0.0F; }

}  // namespace

FoldedLine::FoldedLine(const PoolLine& line, bool maximum, std::span<const float* const> rows,
                       float* scratch)
    : line_(line), maximum_(maximum), is_empty_(rows.empty()), scratch_(scratch), folded_(scratch) {
  if (is_empty_) return;
  if (rows.size() == 1 && line.is_inside()) {
    folded_ = rows[0];
    return;
  }
  // Beside the input lies what changes no maximum and no sum.
  std::fill_n(scratch, line.pad, neutral(maximum));
  float* const middle = scratch + line.pad;
  std::fill(middle + line.in, scratch + line.scratch_elements(), neutral(maximum));
  if (rows.size() == 1) {
    std::copy_n(rows[0], line.in, middle);
  } else {
    fold(rows.data(), std::ssize(rows), line.in, middle, maximum);
  }
}

void FoldedLine::add(const float* row) {
  float* const middle = scratch_ + line_.pad;
  const float* const rows[] = {middle, row};
  fold(rows, 2, line_.in, middle, maximum_);
}

void FoldedLine::pool(float* to) const {
  if (is_empty_) {
    std::fill_n(to, line_.out, neutral(maximum_));
  } else if (maximum_) {
    maxima_of_line(line_, folded_, to);
  } else {
    sums_of_line(line_, folded_, to);
  }
}

}  // namespace egret::backends::cpu

// SPDX-License-Identifier: Apache-2.0
// Inner loops of resampling: weighted sums of rows, and of the elements or vectors of a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace egret::backends::cpu {

// What each of `out` places along an axis is made of: the sum over taps of weight * element `from`.
struct Resampling {
  struct Tap {
    std::vector<std::int32_t> from;  // by place
    std::vector<float> weight;
  };
  std::int64_t in = 1, out = 1;
  std::vector<Tap> taps;
  bool copies = false;       // one tap, and all weights are 1
  std::int64_t repeats = 0;  // if positive: place i is a copy of element i / repeats

  // Whether place i is the same sum as the one before it.
  bool is_as_before(std::int64_t i) const;
};

// to[k] = the sum over taps of weight at `place` * rows[from at `place`][k], for k < n; `rows` is a
// matrix of axis.in rows of n elements.
void resample_rows(const Resampling& axis, std::int64_t place, const float* rows, float* to,
                   std::int64_t n);
// Along a row of axis.in vectors of `width` elements. `to` gets axis.out vectors.
void resample_row(const Resampling& axis, const float* row, float* to, std::int64_t width);

}  // namespace egret::backends::cpu

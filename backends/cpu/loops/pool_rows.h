// SPDX-License-Identifier: Apache-2.0
// Pooling of row-major images, line by line: the lines of a window are folded into one, along which
// neighbours are contiguous, and the folded line is folded along itself. A window of k x k elements
// then costs 2k vector operations instead of k^2, and none of them gathers.
#pragma once

#include <cstdint>
#include <span>

namespace egret::backends::cpu {

// One line of outputs and the lines of inputs that it reads, along the innermost axis.
struct PoolLine {
  std::int64_t in = 1, out = 1;
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad = 0;

  // Elements from the first that a window reaches to the last one.
  std::int64_t reach() const { return (out - 1) * stride + (kernel - 1) * dilation + 1; }
  // Whether no window reaches beyond the input.
  bool is_inside() const { return pad == 0 && reach() <= in; }
  // Of the folded line, with what lies before and behind the input.
  std::int64_t scratch_elements() const { return reach() > pad + in ? reach() : pad + in; }
};

// Lines of one window, folded into one.
class FoldedLine {
 public:
  // `scratch` has line.scratch_elements().
  FoldedLine(const PoolLine& line, bool maximum, std::span<const float* const> rows,
             float* scratch);
  // One more, beside others.
  void add(const float* row);
  // to[x] = the maximum (NaN where an element is NaN; -infinity of none) or the sum of all rows'
  // elements x * stride - pad + k * dilation, k < kernel, that are inside of [0, in).
  void pool(float* to) const;

 private:
  const PoolLine& line_;
  bool maximum_, is_empty_;
  float* scratch_;
  const float* folded_;
};

}  // namespace egret::backends::cpu

// SPDX-License-Identifier: Apache-2.0
// Sums of products of two labelled tensors: matrix products and, along windows, convolutions.
//
// A variable's role follows from its occurrences: N in the first factor and the result, C in both
// factors, O in the second and the result, G in all three. The factors become [G, N, C] x [G, C,
// O], or with windows [N, G*C, x..] and [G*O, C, w..].
#pragma once

#include <optional>
#include <vector>

#include "ir/autodiff/labelled.h"

namespace egret::ir::autodiff {

// The product, summed over the variables that `result` lacks. Every variable of a factor occurs in
// the other factor or in the result.
Labelled product_sum(GraphBuilder& b, const Labelled& first, const Labelled& second,
                     std::span<const int> result);

// One spatial axis of x[stride*y + dilation*w + offset], 0 <= y < y_size, 0 <= w < w_size, which
// counts as 0 outside of 0 <= .. < x_size. Each of x, y, w is a variable.
struct WindowAxis {
  int x, y, w;
  std::int64_t stride, dilation, offset;  // stride and dilation are positive
  std::int64_t x_size, y_size, w_size;
};

// y = sum x * w: a convolution. x has the variables x of the axes, w those called w. nullopt where
// all windows lie outside of x.
std::optional<Labelled> convolved(GraphBuilder& b, const Labelled& x, const Labelled& w,
                                  std::span<const WindowAxis> axes, std::span<const int> result);
// x = sum y * w, the adjoint: a transposed convolution.
std::optional<Labelled> convolved_back(GraphBuilder& b, const Labelled& y, const Labelled& w,
                                       std::span<const WindowAxis> axes,
                                       std::span<const int> result);

}  // namespace egret::ir::autodiff

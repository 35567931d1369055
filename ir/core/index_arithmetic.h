// SPDX-License-Identifier: Apache-2.0
// Index expressions that definitions of data movement share.
#pragma once

#include <span>
#include <vector>

#include "ir/core/denotation.h"

namespace egret::ir {

// The row-major position of `indices` in a box of `sizes`; both have equal length.
Index linear_index(std::span<const Index> indices, std::span<const Index> sizes);

// The inverse: linear_index(multi_index(p, sizes), sizes) == p for 0 <= p < product(sizes). The
// first index is a plain quotient, so that a single size yields `position` itself.
std::vector<Index> multi_index(Index position, std::span<const Index> sizes);

// An element of an index tensor as an index into an axis of `size`. Counts from the end when it is
// negative; as it is taken modulo `size`, a read at it is in range for any element.
Index wrapped_index(Scalar element, Index size);

Index product(std::span<const Index> sizes);

// numerator / denominator with common factors cancelled first, so that N*12 / 4 is N*3 and
// N*S*64 / (N*64) is S. `exact` says when nothing remains; it is false for a denominator of 0 and
// when an integer factor overflows.
struct Quotient {
  Index value;
  Guard exact;
};
Quotient cancelled_quotient(std::span<const Index> numerator, std::span<const Index> denominator);

}  // namespace egret::ir

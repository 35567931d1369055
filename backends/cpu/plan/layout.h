// SPDX-License-Identifier: Apache-2.0
// The memory layout of a tensor: an element stride for each axis, and possibly channels in blocks.
//
// block == B > 1: axis 1 is split; element (n, c, ..) is at n * strides[0] + (c / B) * strides[1] +
// .. + c % B, the innermost. When B does not divide the channels, the last block is padded with
// zeros. Every writer of the tensor keeps the padding zero.
#pragma once

#include <cstdint>
#include <string>

#include "ir/core/tensor_type.h"

namespace egret::backends::cpu {

struct Layout {
  ir::Shape strides{};
  std::int64_t block = 1;
};

Layout row_major(const ir::Shape& shape);
Layout channels_last(const ir::Shape& shape);                        // rank >= 3
Layout channel_blocked(const ir::Shape& shape, std::int64_t block);  // rank >= 3

// Whether both layouts give every element the same offset (strides of axes of size 1 do not
// matter).
bool same_layout(const Layout& a, const Layout& b, const ir::Shape& shape);
inline bool is_row_major(const Layout& layout, const ir::Shape& shape) {
  return same_layout(layout, row_major(shape), shape);
}
// Whether the elements fill [0, span_elements()) without gaps or overlaps.
bool is_dense(const Layout& layout, const ir::Shape& shape);
// One past the largest element offset, padding included; 0 for an empty tensor.
std::int64_t span_elements(const Layout& layout, const ir::Shape& shape);
// Whether padding exists.
bool is_padded(const Layout& layout, const ir::Shape& shape);

// The same memory with one more axis for blocked layouts: shape and strides of [n, c / B, .., B].
// Loops then need not handle blocks. Padding is included.
struct StridedView {
  ir::Shape shape;
  ir::Shape strides;
};
StridedView strided_view(const Layout& layout, const ir::Shape& shape);

std::string to_string(const Layout& layout, const ir::Shape& shape);  // "row-major", "nChw16c", ..

}  // namespace egret::backends::cpu

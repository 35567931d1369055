// SPDX-License-Identifier: Apache-2.0
// How a tensor lies in memory: an element stride an axis, and perhaps channels split in blocks.
//
// block == 1: element (i0, i1, ..) is at sum i_k * strides[k]. Row-major, channels-last (NHWC) and
// views made by transpose, slice and broadcast (strides 0) are all of this kind.
// block == B > 1: axis 1 is split; element (n, c, ..) is at n * strides[0] + (c / B) * strides[1] +
// .. + c % B, the innermost. When B does not divide the channels, the last block is padded with
// zeros, and whoever writes the tensor keeps them zero.
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

// Whether both put every element at the same place (strides of axes of size 1 do not matter).
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

// The same memory seen as one axis more for blocked layouts: shape and strides of
// [n, c / B, .., B], so that loops need not know of blocks. Padding is included.
struct StridedView {
  ir::Shape shape;
  ir::Shape strides;
};
StridedView strided_view(const Layout& layout, const ir::Shape& shape);

std::string to_string(const Layout& layout, const ir::Shape& shape);  // "row-major", "nChw16c", ..

}  // namespace egret::backends::cpu

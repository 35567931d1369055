// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/layout.h"

#include <algorithm>
#include <numeric>

namespace egret::backends::cpu {
namespace {

std::int64_t blocks_of(std::int64_t channels, std::int64_t block) {
  return (channels + block - 1) / block;
}

}  // namespace

Layout row_major(const ir::Shape& shape) { return {ir::row_major_strides(shape), 1}; }

Layout channels_last(const ir::Shape& shape) {
  Layout layout{ir::Shape(shape.size(), 1), 1};
  std::int64_t stride = shape[1];
  for (std::size_t axis = shape.size() - 1; axis >= 2; --axis) {
    layout.strides[axis] = stride;
    stride *= shape[axis];
  }
  layout.strides[0] = stride;
  return layout;
}

Layout channel_blocked(const ir::Shape& shape, std::int64_t block) {
  Layout layout{ir::Shape(shape.size(), 1), block};
  std::int64_t stride = block;
  for (std::size_t axis = shape.size() - 1; axis >= 2; --axis) {
    layout.strides[axis] = stride;
    stride *= shape[axis];
  }
  layout.strides[1] = stride;
  layout.strides[0] = stride * blocks_of(shape[1], block);
  return layout;
}

StridedView strided_view(const Layout& layout, const ir::Shape& shape) {
  StridedView view{shape, layout.strides};
  if (layout.block > 1) {
    view.shape[1] = blocks_of(shape[1], layout.block);
    view.shape.push_back(layout.block);
    view.strides.push_back(1);
  }
  return view;
}

// Whether both put each element at the same offset. The stride of an axis of size 1 does not
// matter.
bool same_layout(const Layout& a, const Layout& b, const ir::Shape& shape) {
  if (a.strides.size() != shape.size() || b.strides.size() != shape.size()) return false;
  if (a.block != b.block) {
    // Blocked and plain coincide where one position a sample remains: [n, c, 1, 1], B divides c.
    const Layout& blocked = a.block > 1 ? a : b;
    const Layout& plain = a.block > 1 ? b : a;
    // Two different block sizes never coincide here.
    if (plain.block > 1 || shape[1] % blocked.block != 0) return false;
    for (std::size_t axis = 2; axis < shape.size(); ++axis) {
      if (shape[axis] != 1) return false;
    }
    return (shape[0] == 1 || blocked.strides[0] == plain.strides[0]) &&
           (shape[1] == 1 || plain.strides[1] == 1) &&
           (shape[1] == blocked.block || blocked.strides[1] == blocked.block);
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t size = axis == 1 ? blocks_of(shape[axis], a.block) : shape[axis];
    if (size > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

// Whether the elements fill their span without gaps: sorted by stride, each stride is the product
// of the sizes below it.
bool is_dense(const Layout& layout, const ir::Shape& shape) {
  const StridedView view = strided_view(layout, shape);
  std::vector<std::size_t> order(view.shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return view.strides[a] < view.strides[b]; });
  std::int64_t expected = 1;
  for (const std::size_t axis : order) {
    if (view.shape[axis] == 1) continue;
    if (view.strides[axis] != expected) return false;
    expected *= view.shape[axis];
  }
  return true;
}

// The offset of the last element plus 1, for strides that are not negative.
std::int64_t span_elements(const Layout& layout, const ir::Shape& shape) {
  const StridedView view = strided_view(layout, shape);
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] == 0) return 0;
    last += (view.shape[axis] - 1) * view.strides[axis];
  }
  return last + 1;
}

bool is_padded(const Layout& layout, const ir::Shape& shape) {
  return layout.block > 1 && shape[1] % layout.block != 0;
}

std::string to_string(const Layout& layout, const ir::Shape& shape) {
  if (layout.block > 1) return "blocked by " + std::to_string(layout.block);
  if (is_row_major(layout, shape)) return "row-major";
  if (shape.size() >= 3 && same_layout(layout, channels_last(shape), shape)) return "channels-last";
  return "strided";
}

}  // namespace egret::backends::cpu

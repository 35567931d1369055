// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "ir/graph/builder.h"

namespace egret::backends {

struct Window {
  ir::Shape image, filter;
  ir::Integers strides, pads, dilations;
  std::int64_t groups = 1;

  ir::Attrs attrs() const {
    return {{"strides", strides}, {"pads", pads}, {"dilations", dilations}, {"group", groups}};
  }
};

// The graph of one convolution, x by w.
inline void convolve(ir::GraphBuilder& b, const Window& window) {
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, window.image));
  const ir::Value w = b.input("w", ir::TensorType(ir::DType::kF32, window.filter));
  b.output("y", b.add("conv", {x, w}, window.attrs()));
}

}  // namespace egret::backends

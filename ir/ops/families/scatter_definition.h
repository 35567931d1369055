// SPDX-License-Identifier: Apache-2.0
// The common part of the scatter operators: the combination of the updates that hit one output
// element.
#pragma once

#include <functional>
#include <span>

#include "ir/graph/operator.h"

namespace egret::ir {

// One output element. The places of the box `extents` with hits(place) hit it and bring
// update(place). `reduction` is the attribute's text:
//   none           the last update in row-major order, or `x` where none hits
//   add, mul       x combined with all updates
//   max, min       of x and all updates
// The box is not empty (the caller requires it).
struct ScatteredElement {
  Scalar x;
  std::vector<Index> extents;
  std::function<Guard(std::span<const Index>)> hits;
  std::function<Scalar(std::span<const Index>)> update;
};
Scalar scattered(Definition& d, const std::string& reduction, const ScatteredElement& element);
// Fails the definition when there is no such reduction.
bool require_scatter_reduction(Definition& d, const std::string& reduction);

// The ONNX attribute `reduction` of opset 16 (18: max, min); "none" where it is absent.
base::Status write_scatter(OnnxWriter& writer, std::string_view op_type,
                           std::vector<OnnxWriter::Attribute> attributes);

}  // namespace egret::ir

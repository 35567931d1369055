// SPDX-License-Identifier: Apache-2.0
// The elements of tensors that depend on constants and on sizes alone, as expressions over the
// symbols: what Shape, Gather, Concat, Mul and the like compute before a Reshape. They follow from
// the operators' definitions.
//
// Some exporters compute sizes in floating-point numbers: Floor(Cast(size) * 1.5). Such a value is
// a fraction if all numbers on the way are exact, which holds up to a size that the element type
// sets (2^24 for f32). A quotient is rounded; its floor and ceiling are exact up to half that size.
// The bounds are conditions on the sizes.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "frontends/nodes/constant_folder.h"
#include "ir/core/expression_extent.h"
#include "ir/graph/graph.h"
#include "ir/graph/onnx_binding.h"

namespace egret::frontends {

class ShapeValues {
 public:
  // Both grow and outlive this object.
  ShapeValues(const ir::Graph& graph, ConstantFolder& constants)
      : graph_(graph), constants_(constants) {}

  // Computes the values of the nodes that were appended since the last call. Requires a
  // SymbolicScope for all values. O(elements times nodes of the denotation), for tensors of at most
  // 64 elements.
  void extend();

  // The elements in row-major order; nullopt if they depend on an input's elements, exceed 64 bits
  // for the examples of the sizes, or are too long expressions (ir/core/expression_extent.h).
  std::optional<std::vector<ir::Index>> elements(ir::NodeId id);
  // The same of real tensors, too; without rounded elements.
  std::optional<std::vector<ir::SizeRatio>> ratios(ir::NodeId id);
  // Tells the current scope to assume the conditions under which the elements are what they are
  // said to be. False: it cannot.
  bool rely_on(ir::NodeId id);

 private:
  struct Value {
    std::vector<ir::SizeRatio> elements;
    std::vector<ir::Guard> conditions;
  };
  std::optional<Value> computed(const ir::Node& node);
  std::optional<std::vector<ir::SizeRatio>> known(ir::NodeId id);
  bool is_exact(const ir::SizeRatio& element, ir::DType dtype, std::vector<ir::Guard>& conditions);

  const ir::Graph& graph_;
  ConstantFolder& constants_;
  std::size_t looked_at_ = 0;
  std::map<ir::NodeId, Value> values_;
  ir::ExpressionMeter meter_;
};

}  // namespace egret::frontends

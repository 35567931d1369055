// SPDX-License-Identifier: Apache-2.0
// The elements of integer tensors that depend on constants and on sizes alone, as expressions over
// the symbols: what Shape, Gather, Concat, Mul and the like compute before a Reshape. They follow
// from the operators' definitions.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "frontends/nodes/constant_folder.h"
#include "ir/core/expression_extent.h"
#include "ir/graph/graph.h"

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

 private:
  std::optional<std::vector<ir::Index>> computed(const ir::Node& node);

  const ir::Graph& graph_;
  ConstantFolder& constants_;
  std::size_t looked_at_ = 0;
  std::map<ir::NodeId, std::vector<ir::Index>> values_;
  ir::ExpressionMeter meter_;
};

}  // namespace egret::frontends

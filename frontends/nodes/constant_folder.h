// SPDX-License-Identifier: Apache-2.0
// Values that are known while a graph is being built: constants, and values that depend on
// constants only. They are computed on request (a shape, axes, a scale) by the interpreter, within
// a limit on elements and work, so that a model cannot make import expensive.
//
// Unlike rules::fold_constants and the folding in backends/prepare.h it leaves the graph as it is:
// the graph still grows, and the importer reads few of its values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::frontends {

class ConstantFolder {
 public:
  // `graph` may grow between calls, never change.
  ConstantFolder(const ir::Graph& graph, std::int64_t max_elements)
      : graph_(graph), max_elements_(max_elements) {}

  // Whether a node depends on constants alone.
  bool is_constant(ir::NodeId id);
  // The value of a node; nullopt when it depends on an input, is too large, or cannot be computed.
  std::optional<ir::Tensor> value(ir::NodeId id);

 private:
  // The nodes to compute for `id`, in order; empty when that is too much.
  std::vector<ir::NodeId> needed(ir::NodeId id) const;

  const ir::Graph& graph_;
  std::int64_t max_elements_;
  std::vector<bool> constant_;  // ir::constant_nodes() of the nodes looked at so far
  std::map<ir::NodeId, ir::Tensor> computed_;
};

}  // namespace egret::frontends

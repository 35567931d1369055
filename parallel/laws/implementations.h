// SPDX-License-Identifier: Apache-2.0
// The implementations of an e-node that give its value under a placement: one law along each axis
// of the mesh in turn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel/laws/law_cache.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::parallel {

struct Implementation {
  ir::Attrs attrs;                    // of the operator on the parts
  std::vector<ir::TensorType> parts;  // of the inputs
  std::vector<Placement> inputs;
};

class Implementations {
 public:
  // Both outlive this.
  Implementations(const rules::TensorEGraph& tensors, const Mesh& mesh)
      : tensors_(tensors), mesh_(mesh) {}

  // The implementations of an operator's node. Their input placements may not fit the inputs.
  std::vector<Implementation> of(egraph::NodeId node, const Placement& output);
  // Cached laws_of().
  const std::vector<Law>& laws(const ir::Operator& op, const ir::Attrs& attrs,
                               std::span<const ir::TensorType> types, std::int64_t devices) {
    return laws_.of(op, attrs, types, devices);
  }

 private:
  void add(const ir::Operator& op, const Placement& output, int axis, const Implementation& way,
           std::vector<Implementation>& found);

  const rules::TensorEGraph& tensors_;
  const Mesh& mesh_;
  LawCache laws_;
};

}  // namespace egret::parallel

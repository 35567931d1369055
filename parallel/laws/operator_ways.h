// SPDX-License-Identifier: Apache-2.0
// The implementations of an e-node that give its value under a placement: one law along each axis
// of the mesh in turn.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel/laws/known_laws.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::parallel {

struct OperatorWay {
  ir::Attrs attrs;                    // of the operator on the parts
  std::vector<ir::TensorType> parts;  // of the inputs
  std::vector<Placement> inputs;
};

class OperatorWays {
 public:
  // Both outlive this.
  OperatorWays(const rules::TensorEGraph& tensors, const Mesh& mesh)
      : tensors_(tensors), mesh_(mesh) {}

  // The implementations of an operator's node. Their input placements may not fit the inputs.
  std::vector<OperatorWay> of(egraph::NodeId node, const Placement& output);
  // Cached laws_of().
  const std::vector<Law>& laws(const ir::Operator& op, const ir::Attrs& attrs,
                               std::span<const ir::TensorType> types, std::int64_t devices) {
    return laws_.of(op, attrs, types, devices);
  }

 private:
  void add(const ir::Operator& op, const Placement& output, int axis, const OperatorWay& way,
           std::vector<OperatorWay>& found);

  const rules::TensorEGraph& tensors_;
  const Mesh& mesh_;
  KnownLaws laws_;
};

}  // namespace egret::parallel

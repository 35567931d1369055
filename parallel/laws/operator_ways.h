// SPDX-License-Identifier: Apache-2.0
// In which ways an e-node of a program can give its value under a placement: laws along one axis of
// the mesh after the other.
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

  // Of an operator's node. Inputs may have placements that do not fit them.
  std::vector<OperatorWay> of(egraph::NodeId node, const Placement& output);
  // laws_of(), remembered.
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

// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/requirements.h"

#include <vector>

#include "ir/graph/body.h"

namespace egret::ir {

base::Status check_requirements(const Operator& op, const Attrs& attrs,
                                std::span<const TensorType> inputs,
                                const std::function<bool(Guard)>& holds) {
  if (op.is_composite()) {
    const std::vector<TensorType> types(inputs.begin(), inputs.end());
    EGRET_ASSIGN_OR_RETURN(const Graph body, body_graph(op, attrs, types));
    for (const Node& node : body.nodes()) {
      if (node.kind != NodeKind::kOperator) continue;
      std::vector<TensorType> operands;
      for (const NodeId input : node.inputs) operands.push_back(body.node(input).type);
      EGRET_RETURN_IF_ERROR(check_requirements(*node.op, node.attrs, operands, holds));
    }
    return base::ok();
  }
  if (op.is_opaque()) return base::ok();
  EGRET_ASSIGN_OR_RETURN(const Denotation denotation, denote(op, attrs, inputs));
  for (const Requirement& requirement : denotation.requirements) {
    if (!holds(requirement.condition))
      return base::bad_input(op.name() + ": " + requirement.message);
  }
  return base::ok();
}

}  // namespace egret::ir

// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/graph_sink.h"

#include <utility>
#include <vector>

namespace egret::rules {

using base::Result;

GraphSink::Handle GraphSink::append(ir::Node node, std::optional<double> splat, ir::Sign sign) {
  facts_.push_back({node.type, true, splat, splat ? ir::sign_of(*splat) : sign});
  return graph_.append(std::move(node)).index();
}

GraphSink::Handle GraphSink::input(ir::TensorType type, const std::string& name,
                                   std::optional<double> splat, ir::Sign sign) {
  return append({.kind = ir::NodeKind::kInput, .type = std::move(type), .name = name}, splat, sign);
}

GraphSink::Handle GraphSink::apply_typed(const ir::Operator& op, const ir::Attrs& attrs,
                                         std::span<const Handle> arguments, ir::TensorType type) {
  ir::Node node;
  for (const Handle argument : arguments) node.inputs.emplace_back(argument);
  node.type = std::move(type);
  node.op = &op;
  node.attrs = attrs;
  return append(std::move(node));
}

Result<GraphSink::Handle> GraphSink::apply(const ir::Operator& op, const ir::Attrs& attrs,
                                           std::span<const Handle> arguments) {
  std::vector<ir::TensorType> types;
  for (const Handle argument : arguments) types.push_back(facts(argument).type);
  EGRET_ASSIGN_OR_RETURN(ir::TensorType type, limits_ ? limits_->known.infer(op, attrs, types)
                                                      : ir::infer_type(op, attrs, types));
  if (limits_) {
    const auto elements = ir::element_count(type.shape());
    if (!elements || *elements > limits_->most_elements)
      return base::limit_hit("the tensors of an instance are too large");
  }
  return apply_typed(op, attrs, arguments, std::move(type));
}

Result<GraphSink::Handle> GraphSink::scalar(ir::DType dtype, double value) {
  ir::Node node;
  node.kind = ir::NodeKind::kConstant;
  node.data = ir::Tensor::scalar(dtype, value);
  node.type = node.data.type();
  return append(std::move(node));
}

}  // namespace egret::rules

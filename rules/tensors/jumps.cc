// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/jumps.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "ir/graph/builder.h"

namespace egret::rules {
namespace {

using ir::ExprNode;
using ir::ExprOp;

bool is_real(const ir::TensorType& type) { return is_float(type.dtype); }
// Integers are exact in any precision.
bool is_wider_than_f32(const ir::TensorType& type) { return type.dtype == ir::DType::kF64; }

// The nodes of an expression, operands first. They may come from several pools: constant numbers
// are in a pool that all expressions share.
std::vector<const ExprNode*> nodes_of(const ExprNode* root) {
  std::vector<const ExprNode*> nodes;
  std::set<const ExprNode*> seen{root};
  std::vector<std::pair<const ExprNode*, std::size_t>> stack{{root, 0}};  // and kids looked at
  while (!stack.empty()) {
    auto& [node, looked_at] = stack.back();
    if (looked_at == node->kids.size()) {
      nodes.push_back(node);
      stack.pop_back();
      continue;
    }
    const ExprNode* kid = node->kids[looked_at++];
    if (seen.insert(kid).second) stack.emplace_back(kid, 0);
  }
  return nodes;
}

bool steps(const ExprNode& node) {
  switch (node.op) {
    case ExprOp::kScalarLt:
    case ExprOp::kScalarLe:
    case ExprOp::kScalarEq:
    case ExprOp::kIndexOf: return true;
    case ExprOp::kCast: return !is_float(node.dtype);
    case ExprOp::kCall:
      return node.function == ir::Function::kFloor || node.function == ir::Function::kCeil ||
             node.function == ir::Function::kRoundEven || node.function == ir::Function::kTrunc;
    default: return false;
  }
}

using TestPrimitive = bool (*)(const ir::Operator&, const ir::Attrs&,
                               std::span<const ir::TensorType>);

// A decision counts only if it depends on a real element. `real` collects the nodes that do.
bool primitive_has_jumps(const ir::Operator& op, const ir::Attrs& attrs,
                         std::span<const ir::TensorType> inputs) {
  if (std::ranges::none_of(inputs, is_real)) return false;
  const auto denotation = denote(op, attrs, inputs);
  if (!denotation.ok()) return true;
  if (!is_real(denotation->type)) return true;
  const ExprNode* root = denotation->value.node();
  if (root == nullptr) return false;
  std::set<const ExprNode*> real;  // depend on a real element
  for (const ExprNode* node : nodes_of(root)) {
    const bool has_real_kid =
        std::ranges::any_of(node->kids, [&](const ExprNode* kid) { return real.contains(kid); });
    if (has_real_kid && steps(*node)) return true;
    const bool reads_real =
        node->op == ExprOp::kRead && is_real(inputs[static_cast<std::size_t>(node->integer)]);
    if (has_real_kid || reads_real) real.insert(node);
  }
  return false;
}

bool rounds_at(const ExprNode& node) {
  switch (node.op) {
    case ExprOp::kAdd:
    case ExprOp::kSub:
    case ExprOp::kMul:
    case ExprOp::kDiv:
    case ExprOp::kCall:
    case ExprOp::kScalarOf:
    case ExprOp::kCast: return true;
    case ExprOp::kConst: return static_cast<double>(static_cast<float>(node.real)) != node.real;
    case ExprOp::kReduce:
      return node.reduction == ir::Reduction::kSum || node.reduction == ir::Reduction::kProd;
    default: return false;
  }
}

bool primitive_rounds(const ir::Operator& op, const ir::Attrs& attrs,
                      std::span<const ir::TensorType> inputs) {
  if (std::ranges::any_of(inputs, is_wider_than_f32)) return true;
  const auto denotation = denote(op, attrs, inputs);
  if (!denotation.ok() || is_wider_than_f32(denotation->type)) return true;
  const ExprNode* root = denotation->value.node();
  return root == nullptr ||
         std::ranges::any_of(nodes_of(root), [](const ExprNode* node) { return rounds_at(*node); });
}

// Whether a primitive of which the operator consists passes the test. Also true if its body is not
// available.
bool any_primitive(const ir::Operator& op, const ir::Attrs& attrs,
                   std::span<const ir::TensorType> inputs, TestPrimitive test) {
  if (!op.is_composite()) return test(op, attrs, inputs);
  ir::GraphBuilder builder;
  std::vector<ir::Value> values;
  for (const ir::TensorType& type : inputs) values.push_back(builder.input("", type));
  builder.output("", builder.add(op, values, attrs));
  const auto composite = builder.finish();
  if (!composite.ok()) return true;
  const auto body = expand_composites(*composite);
  if (!body.ok()) return true;
  return std::ranges::any_of(body->nodes(), [&](const ir::Node& node) {
    if (node.kind != ir::NodeKind::kOperator) return false;
    std::vector<ir::TensorType> types;
    for (const ir::NodeId input : node.inputs) types.push_back(body->node(input).type);
    return test(*node.op, node.attrs, types);
  });
}

}  // namespace

bool has_jumps(const ir::Operator& op, const ir::Attrs& attrs,
               std::span<const ir::TensorType> inputs) {
  return std::ranges::any_of(inputs, is_real) &&
         any_primitive(op, attrs, inputs, primitive_has_jumps);
}

bool rounds(const ir::Operator& op, const ir::Attrs& attrs,
            std::span<const ir::TensorType> inputs) {
  return any_primitive(op, attrs, inputs, primitive_rounds);
}

}  // namespace egret::rules

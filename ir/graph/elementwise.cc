// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/elementwise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/builder.h"

namespace egret::ir {
namespace {

// Whether a read is at the place that broadcasting gives the operand for the output element `vars`.
bool is_at_own_place(const ExprNode& read, const TensorType& operand, std::span<const Index> vars) {
  const std::size_t rank = operand.dims.size();
  if (read.kids.size() != rank || rank > vars.size()) return false;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const ExprNode* index = read.kids[axis];
    const bool first = index->op == ExprOp::kIndexConst && index->integer == 0;
    const bool repeats = operand.dims[axis].is_constant() && operand.dims[axis].constant() == 1;
    if (index != vars[vars.size() - rank + axis].node() && !(first && repeats)) return false;
  }
  return true;
}

// Writes the function that an element is of its operands' elements, independent of the pool. Equal
// texts mean equal functions.
class FunctionText {
 public:
  FunctionText(std::span<const TensorType> operands, std::span<const Index> vars)
      : operands_(operands), vars_(vars) {}

  // nullopt: the value depends on something other than elements at its own place.
  std::optional<std::string> of(const ExprNode& value) {
    return write(value) ? std::optional(text_) : std::nullopt;
  }

 private:
  // The number of the line that describes the node.
  std::optional<std::size_t> write(const ExprNode& node) {
    if (const auto found = lines_.find(&node); found != lines_.end()) return found->second;
    std::string line = std::to_string(static_cast<int>(node.op));
    switch (node.op) {
      case ExprOp::kVar:
      case ExprOp::kSymbol:
      case ExprOp::kReduce:
      case ExprOp::kIndexOf: return std::nullopt;
      case ExprOp::kRead: {
        const auto operand = static_cast<std::size_t>(node.integer);
        if (!is_at_own_place(node, operands_[operand], vars_)) return std::nullopt;
        line += " operand " + std::to_string(operand);
        break;
      }
      default: {
        line += " " + std::to_string(static_cast<int>(node.dtype)) + " " +
                std::to_string(static_cast<int>(node.function)) + " " +
                std::to_string(node.integer) + " " + to_string(AttrValue(node.real));
        for (const ExprNode* kid : node.kids) {
          const auto number = write(*kid);
          if (!number) return std::nullopt;
          line += " @" + std::to_string(*number);
        }
      }
    }
    text_ += line + "\n";
    return lines_.emplace(&node, lines_.size()).first->second;
  }

  std::span<const TensorType> operands_;
  std::span<const Index> vars_;
  std::map<const ExprNode*, std::size_t> lines_;
  std::string text_;
};

// The function that the node's elements are of its operands' elements; nullopt if it is no such
// function. A constant tensor of one element counts as a number.
std::optional<std::string> function_of(const Graph& graph, const Node& node) {
  if (node.kind == NodeKind::kInput) return "input";
  if (node.kind == NodeKind::kConstant)
    return node.data.elements() == 1 ? std::optional(to_string(node.data, 1)) : std::nullopt;
  std::vector<TensorType> operands;
  for (const NodeId input : node.inputs) operands.push_back(graph.node(input).type);
  const auto denotation = denote(*node.op, node.attrs, operands);
  if (!denotation.ok()) return std::nullopt;
  const Scalar& value = denotation->value;
  if (value.is_constant()) return to_string(AttrValue(value.constant()));
  return FunctionText(operands, denotation->vars).of(*value.node());
}

// The sizes of operands that broadcast.
Shape broadcast_shape(std::span<const TensorType> operands) {
  Shape joint;
  for (const TensorType& type : operands) {
    const Shape own = type.shape();
    if (own.size() > joint.size()) joint.insert(joint.begin(), own.size() - joint.size(), 1);
    const std::size_t skipped = joint.size() - own.size();
    for (std::size_t i = 0; i < own.size(); ++i)
      joint[skipped + i] = std::max(joint[skipped + i], own[i]);
  }
  return joint;
}

// The function of the operator on operands of these types. An empty text: the operator refuses
// them. nullopt: it is not elementwise on them.
std::optional<std::string> function_of(const Operator& op, const Attrs& attrs,
                                       std::span<const TensorType> operands) {
  GraphBuilder builder;
  std::vector<Value> inputs;
  for (const TensorType& type : operands) inputs.push_back(builder.input("", type));
  builder.output("out", builder.add(op, inputs, attrs));
  const auto graph = builder.finish();
  if (!graph.ok()) return "";
  const auto expanded = expand_composites(*graph);
  if (!expanded.ok()) return std::nullopt;
  const auto& out = expanded->node(expanded->outputs().front().node).type;
  if (!operands.empty() && out.shape() != broadcast_shape(operands)) return std::nullopt;
  std::string text = std::string(to_string(out.dtype)) + "\n";
  for (const NodeId id : live_nodes(*expanded)) {
    const Node& node = expanded->node(id);
    const auto function = function_of(*expanded, node);
    if (!function) return std::nullopt;
    text += *function;
    for (const NodeId input : node.inputs) text += " #" + std::to_string(input.index());
    text += "\n";
  }
  return text;
}

}  // namespace

bool is_elementwise(const Operator& op, const Attrs& attrs, std::span<const DType> dtypes) {
  static constexpr std::int64_t kSizes[] = {2, 3, 5};
  const auto type = [](DType dtype, std::size_t rank) {
    TensorType made(dtype, Dims());
    for (std::size_t axis = 3 - rank; axis < 3; ++axis) made.dims.push_back(kSizes[axis]);
    return made;
  };
  const auto all_of_rank = [&](std::size_t rank) {
    std::vector<TensorType> types;
    for (const DType dtype : dtypes) types.push_back(type(dtype, rank));
    return types;
  };
  const auto function = function_of(op, attrs, all_of_rank(0));
  if (!function || function->empty()) return false;
  if (dtypes.empty()) return true;
  for (const std::size_t rank : {1, 2, 3}) {
    if (function_of(op, attrs, all_of_rank(rank)) != function) return false;
  }
  if (dtypes.size() == 1) return true;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    for (const TensorType& other : {type(dtypes[i], 0), type(dtypes[i], 1),
                                    TensorType(dtypes[i], Dims{Index(1), Index(5)})}) {
      std::vector<TensorType> types = all_of_rank(2);
      types[i] = other;
      const auto mixed = function_of(op, attrs, types);
      if (!mixed || (!mixed->empty() && mixed != function)) return false;
    }
  }
  return true;
}

}  // namespace egret::ir

// SPDX-License-Identifier: Apache-2.0
#include "parallel/placed/sequential_program.h"

#include <map>
#include <string>
#include <vector>

namespace egret::parallel {
namespace {

using Kind = PlacedNode::Kind;

class Eraser {
 public:
  explicit Eraser(const PlacedGraph& graph) : graph_(graph) {}

  base::Result<ir::Graph> run() {
    for (const PlacedNode& node : graph_.nodes) {
      EGRET_ASSIGN_OR_RETURN(const ir::NodeId value, value_of(node));
      values_.push_back(value);
    }
    for (const auto& output : graph_.outputs)
      sequential_.add_output(output.name, values_[output.node]);
    return std::move(sequential_);
  }

 private:
  base::Result<ir::NodeId> value_of(const PlacedNode& node) {
    switch (node.kind) {
      case Kind::kInput: {
        const auto [known, is_new] = inputs_.try_emplace(node.name);
        if (is_new) {
          known->second = sequential_.append(
              {.kind = ir::NodeKind::kInput, .type = node.whole, .name = node.name});
        }
        const ir::TensorType& type = sequential_.node(known->second).type;
        if (type != node.whole) {
          return base::bad_input("two inputs are called '" + node.name + "', of type " +
                                 ir::to_string(type) + " and " + ir::to_string(node.whole));
        }
        return known->second;
      }
      case Kind::kConstant:
        return sequential_.append({.kind = ir::NodeKind::kConstant,
                                   .type = node.whole,
                                   .data = node.data,
                                   .name = node.name});
      case Kind::kBack:
      case Kind::kCollective: return values_[node.inputs.front()];
      case Kind::kRing: return ring(node);
      case Kind::kOperator: break;
    }
    std::vector<ir::NodeId> operands;
    for (const std::size_t input : node.inputs) operands.push_back(values_[input]);
    return apply(*node.op, node.attrs, std::move(operands), node.name);
  }

  base::Result<ir::NodeId> ring(const PlacedNode& node) {
    std::vector<ir::NodeId> made;
    for (const RingNode& step : node.ring.nodes) {
      std::vector<ir::NodeId> operands;
      for (const int input : step.inputs) {
        operands.push_back(input >= 0 ? made[static_cast<std::size_t>(input)]
                                      : values_[node.inputs[static_cast<std::size_t>(-1 - input)]]);
      }
      EGRET_ASSIGN_OR_RETURN(const ir::NodeId value,
                             apply(*step.op, step.attrs, std::move(operands), node.name));
      made.push_back(value);
    }
    return made.back();
  }

  base::Result<ir::NodeId> apply(const ir::Operator& op, const ir::Attrs& attrs,
                                 std::vector<ir::NodeId> operands, const std::string& name) {
    std::vector<ir::TensorType> types;
    for (const ir::NodeId operand : operands) types.push_back(sequential_.node(operand).type);
    EGRET_ASSIGN_OR_RETURN(ir::TensorType type, ir::infer_type(op, attrs, types));
    return sequential_.append({.op = &op,
                               .attrs = attrs,
                               .inputs = std::move(operands),
                               .type = std::move(type),
                               .name = name});
  }

  const PlacedGraph& graph_;
  ir::Graph sequential_;
  std::vector<ir::NodeId> values_;  // by placed node
  std::map<std::string, ir::NodeId> inputs_;
};

// The inputs of the program in the order of the model's, by name. Inputs that the model lacks stay
// behind them.
ir::Graph in_order_of(const ir::Graph& program, const ir::Graph& model) {
  std::map<std::string, ir::Node> inputs;
  for (const ir::NodeId id : program.inputs())
    inputs.emplace(program.node(id).name, program.node(id));
  ir::Graph ordered;
  std::map<std::string, ir::NodeId> placed;
  for (const ir::NodeId id : model.inputs()) {
    const ir::Node& node = model.node(id);
    const auto found = inputs.find(node.name);
    placed[node.name] = ordered.append(found == inputs.end() ? node : found->second);
  }
  std::vector<ir::NodeId> moved;
  for (const ir::Node& old : program.nodes()) {
    if (old.kind == ir::NodeKind::kInput && placed.contains(old.name)) {
      moved.push_back(placed.at(old.name));
      continue;
    }
    ir::Node node = old;
    for (ir::NodeId& input : node.inputs) input = moved[input.index()];
    moved.push_back(ordered.append(std::move(node)));
  }
  for (const auto& output : program.outputs())
    ordered.add_output(output.name, moved[output.node.index()]);
  return ordered;
}

}  // namespace

base::Result<ir::Graph> sequential_program(const PlacedGraph& graph) { return Eraser(graph).run(); }

base::Result<ir::Graph> sequential_program(const PlacedGraph& graph, const ir::Graph& model) {
  EGRET_ASSIGN_OR_RETURN(const ir::Graph program, sequential_program(graph));
  return in_order_of(program, model);
}

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/node_prices.h"

#include <algorithm>

#include "ir/analysis/elementwise.h"
#include "ir/nest/work.h"

namespace egret::parallel {
namespace {

base::Result<double> seconds_of(cost::Model& model, const ir::Operator& op, const ir::Attrs& attrs,
                                std::span<const ir::TensorType> types,
                                const std::unique_ptr<bool[]>& constant,
                                const ir::TensorType& output) {
  EGRET_ASSIGN_OR_RETURN(const cost::Cost cost,
                         model.cost({.op = &op,
                                     .attrs = &attrs,
                                     .inputs = types,
                                     .constant = {constant.get(), types.size()},
                                     .output = &output}));
  return cost.seconds;
}

base::Result<double> seconds_of_all(const ir::Graph& graph, cost::Model& model) {
  double seconds = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (node.kind != ir::NodeKind::kOperator) continue;
    std::vector<ir::TensorType> types;
    for (const ir::NodeId input : node.inputs) types.push_back(graph.node(input).type);
    EGRET_ASSIGN_OR_RETURN(const double one,
                           seconds_of(model, *node.op, node.attrs, types,
                                      std::make_unique<bool[]>(types.size()), node.type));
    seconds += one;
  }
  return seconds;
}

}  // namespace

base::Result<double> seconds_of_graph(const ir::Graph& graph, const cost::Rates& rates) {
  return seconds_of_all(graph, *cost::make_model("roofline", rates));
}

NodePrices::NodePrices(const PlacedGraph& plan, const Cluster& machine)
    : plan_(plan),
      machine_(machine),
      model_(cost::make_model("roofline", machine.rates)),
      constant_(follow_from_constants(plan)),
      readers_(plan.nodes.size(), 0) {
  for (const PlacedNode& node : plan.nodes) {
    for (const std::size_t input : node.inputs) ++readers_[input];
  }
  for (const auto& output : plan.outputs) ++readers_[output.node];
}

// The operand whose kernel an elementwise operator joins, as parallel/plan/fusion.h prices it.
std::optional<std::size_t> NodePrices::joined_operand(const PlacedNode& node) const {
  if (!machine_.fuses) return std::nullopt;
  std::vector<ir::DType> dtypes;
  for (const std::size_t input : node.inputs) dtypes.push_back(plan_.nodes[input].type.dtype);
  if (!ir::is_elementwise(*node.op, node.attrs, dtypes)) return std::nullopt;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const PlacedNode& operand = plan_.nodes[node.inputs[i]];
    if (operand.kind == PlacedNode::Kind::kOperator && !constant_[node.inputs[i]] &&
        operand.type.shape() == node.type.shape())
      return i;
  }
  return std::nullopt;
}

base::Result<double> NodePrices::of_operator(std::size_t at) const {
  const PlacedNode& node = plan_.nodes[at];
  std::vector<ir::TensorType> types;
  const auto constant = std::make_unique<bool[]>(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    types.push_back(plan_.nodes[node.inputs[i]].type);
    constant[i] = constant_[node.inputs[i]];
  }
  if (const auto joined = joined_operand(node)) {
    EGRET_ASSIGN_OR_RETURN(ir::Work work, ir::work_of(*node.op, node.part_attrs, types));
    const auto bytes = static_cast<double>(types[*joined].bytes());
    work.bytes_read = std::max(0.0, work.bytes_read - bytes);
    if (readers_[node.inputs[*joined]] == 1)
      work.bytes_written = std::max(0.0, work.bytes_written - bytes);
    return cost::roofline_seconds(work, machine_.rates);
  }
  return seconds_of(*model_, *node.op, node.part_attrs, types, constant, node.type);
}

double NodePrices::of_collective(std::size_t at) const {
  const PlacedNode& node = plan_.nodes[at];
  const auto from = static_cast<double>(plan_.nodes[node.inputs.front()].type.bytes());
  return machine_.seconds(node.collective, from, static_cast<double>(node.type.bytes()));
}

base::Result<double> NodePrices::of_graph(const ir::Graph& part) const {
  return seconds_of_all(part, *model_);
}

double NodePrices::of_copy(double bytes) const {
  return machine_.rates.seconds_per_kernel + 2 * bytes / machine_.rates.bytes_per_second;
}

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include "parallel/placed/program_prices.h"

#include <algorithm>

#include "ir/analysis/elementwise.h"
#include "ir/nest/work.h"

namespace egret::parallel {

using Kind = PlacedNode::Kind;

ProgramPrices::ProgramPrices(const PlacedGraph& graph, const Cluster& machine)
    : graph_(graph),
      machine_(machine),
      model_(cost::make_model("roofline", machine.rates)),
      constant_(follow_from_constants(graph)),
      readers_(graph.nodes.size(), 0) {
  for (const PlacedNode& node : graph.nodes) {
    for (const std::size_t input : node.inputs) ++readers_[input];
  }
  for (const auto& output : graph.outputs) ++readers_[output.node];
}

std::optional<std::size_t> ProgramPrices::joined_operand(const PlacedNode& node) const {
  if (!machine_.fuses || node.kind != Kind::kOperator) return std::nullopt;
  std::vector<ir::DType> dtypes;
  for (const std::size_t input : node.inputs) dtypes.push_back(graph_.nodes[input].type.dtype);
  if (!ir::is_elementwise(*node.op, node.attrs, dtypes)) return std::nullopt;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const PlacedNode& operand = graph_.nodes[node.inputs[i]];
    if (operand.kind == Kind::kOperator && !constant_[node.inputs[i]] &&
        operand.type.shape() == node.type.shape())
      return i;
  }
  return std::nullopt;
}

base::Result<double> ProgramPrices::fused_seconds(const PlacedNode& node) const {
  const auto joined = joined_operand(node);
  if (!joined) return seconds_alone(node);
  std::vector<ir::TensorType> types;
  for (const std::size_t input : node.inputs) types.push_back(graph_.nodes[input].type);
  EGRET_ASSIGN_OR_RETURN(ir::Work work, ir::work_of(*node.op, node.part_attrs, types));
  const auto bytes = static_cast<double>(types[*joined].bytes());
  work.bytes_read = std::max(0.0, work.bytes_read - bytes);
  if (readers_[node.inputs[*joined]] == 1)
    work.bytes_written = std::max(0.0, work.bytes_written - bytes);
  return cost::roofline_seconds(work, machine_.rates);
}

base::Result<double> ProgramPrices::seconds_alone(const PlacedNode& node) const {
  if (node.kind == Kind::kRing) return seconds_of(known_ring_program(graph_, node));
  if (node.kind == Kind::kBack) return copy_seconds(node);
  if (node.kind == Kind::kCollective) {
    const auto from = static_cast<double>(graph_.nodes[node.inputs.front()].type.bytes());
    return machine_.seconds(node.collective, from, static_cast<double>(node.type.bytes()));
  }
  std::vector<ir::TensorType> types;
  const auto constant = std::make_unique<bool[]>(node.inputs.size());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    types.push_back(graph_.nodes[node.inputs[i]].type);
    constant[i] = constant_[node.inputs[i]];
  }
  return seconds_of(*node.op, node.part_attrs, types, {constant.get(), types.size()}, node.type);
}

base::Result<double> ProgramPrices::seconds_of(const ir::Operator& op, const ir::Attrs& attrs,
                                               std::span<const ir::TensorType> types,
                                               std::span<const bool> constant,
                                               const ir::TensorType& output) const {
  EGRET_ASSIGN_OR_RETURN(
      const cost::Cost cost,
      model_->cost(
          {.op = &op, .attrs = &attrs, .inputs = types, .constant = constant, .output = &output}));
  return cost.seconds;
}

base::Result<double> ProgramPrices::seconds_of(const ir::Graph& graph) const {
  double seconds = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (node.kind != ir::NodeKind::kOperator) continue;
    std::vector<ir::TensorType> types;
    for (const ir::NodeId input : node.inputs) types.push_back(graph.node(input).type);
    const auto constant = std::make_unique<bool[]>(types.size());
    EGRET_ASSIGN_OR_RETURN(const double one, seconds_of(*node.op, node.attrs, types,
                                                        {constant.get(), types.size()}, node.type));
    seconds += one;
  }
  return seconds;
}

double ProgramPrices::copy_seconds(const PlacedNode& node) const {
  return static_cast<double>(node.type.bytes()) / graph_.storage_bytes_per_second;
}

double ProgramPrices::seconds_to_copy(double bytes) const {
  return machine_.rates.seconds_per_kernel + 2 * bytes / machine_.rates.bytes_per_second;
}

// Steps copy the blocks that they cut out of stationary inputs, and those that they put into the
// result.
base::Result<double> ProgramPrices::seconds_of(const RingProgram& ring) const {
  const auto steps = static_cast<double>(ring.steps);
  EGRET_ASSIGN_OR_RETURN(const double step, seconds_of(ring.step));
  EGRET_ASSIGN_OR_RETURN(double seconds, seconds_of(ring.finish));
  if (ring.result.is_split()) seconds = seconds_to_copy(static_cast<double>(ring.type.bytes()));
  seconds += steps * step;
  for (std::size_t i = 0; i < ring.inputs.size(); ++i) {
    const auto bytes = static_cast<double>(ring.blocks[i].bytes());
    if (ring.inputs[i].passes) {
      seconds += machine_.seconds_to_pass(ring.axis, bytes);
    } else if (ring.inputs[i].step.is_split()) {
      seconds += steps * seconds_to_copy(bytes);
    }
  }
  return seconds;
}

}  // namespace egret::parallel

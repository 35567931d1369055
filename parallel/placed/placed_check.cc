// SPDX-License-Identifier: Apache-2.0
#include "parallel/placed/placed_check.h"

#include <algorithm>
#include <string>

#include "base/stop.h"
#include "parallel/laws/law_steps.h"

namespace egret::parallel {
namespace {

using Kind = PlacedNode::Kind;

// Derives the part's attributes from the laws again and compares them. A plan that no law supports
// is refused, whatever wrote it.
base::Status check_operator(const PlacedGraph& graph, const PlacedNode& node, LawCache& laws) {
  std::vector<ir::TensorType> wholes;
  std::vector<ir::TensorType> parts;
  std::vector<Placement> placements;
  for (const std::size_t input : node.inputs) {
    wholes.push_back(graph.nodes[input].whole);
    parts.push_back(graph.nodes[input].type);
    placements.push_back(graph.nodes[input].placement);
  }
  EGRET_ASSIGN_OR_RETURN(const ir::TensorType whole, ir::infer_type(*node.op, node.attrs, wholes));
  if (whole != node.whole) return base::bad_input("its type must be " + ir::to_string(whole));
  EGRET_ASSIGN_OR_RETURN(const ir::Attrs attrs, part_attrs(*node.op, node.attrs, wholes, placements,
                                                           node.placement, graph.mesh, laws));
  if (!(attrs == node.part_attrs)) return base::bad_input("the attributes of its parts differ");
  EGRET_ASSIGN_OR_RETURN(const ir::TensorType type, ir::infer_type(*node.op, attrs, parts));
  return type == node.type ? base::ok() : base::bad_input("the type of its parts differs");
}

base::Status check_collective(const PlacedGraph& graph, const PlacedNode& node) {
  const PlacedNode& input = graph.nodes[node.inputs.front()];
  const Collective& collective = node.collective;
  const bool cut_last = !collective.from.is_split() || input.placement.is_last_cut(collective.axis);
  if (name_of(collective).empty() || input.whole != node.whole || !cut_last ||
      input.placement.along(collective.axis) != collective.from ||
      input.placement.with(collective.axis, collective.to) != node.placement) {
    return base::mismatch("no collective changes " + to_string(input.placement, graph.mesh) +
                          " to " + to_string(node.placement, graph.mesh));
  }
  return base::ok();
}

base::Status check_ring(const PlacedGraph& graph, const PlacedNode& node) {
  EGRET_ASSIGN_OR_RETURN(const RingProgram program, ring_program(graph, node));
  return program.whole == node.whole && program.placement == node.placement
             ? base::ok()
             : base::mismatch("its ring computes " + ir::to_string(program.whole) + " under " +
                              to_string(program.placement, graph.mesh));
}

// Values computed again come from the same computation, on equal inputs.
base::Status check_again(const PlacedGraph& graph, std::size_t i) {
  const PlacedNode& node = graph.nodes[i];
  const auto first_of = [&](std::size_t k) { return graph.nodes[k].again.value_or(k); };
  if (*node.again >= i) return base::bad_input("the first computation must come before it");
  const PlacedNode& first = graph.nodes[*node.again];
  if (first.again) return base::bad_input("the first computation is one that computes again");
  if (node.kind == Kind::kBack) {
    const bool same = node.inputs == std::vector{*node.again} && !first.inputs.empty() &&
                      node.whole == first.whole && node.placement == first.placement;
    return same ? base::ok()
                : base::mismatch("it does not copy back the value of node " +
                                 std::to_string(*node.again));
  }
  const bool equal = node.kind == first.kind && node.op == first.op && node.attrs == first.attrs &&
                     node.collective == first.collective && node.whole == first.whole &&
                     node.placement == first.placement &&
                     (node.kind != Kind::kRing ||
                      to_string(node.ring, graph.mesh) == to_string(first.ring, graph.mesh)) &&
                     std::ranges::equal(node.inputs, first.inputs, {}, first_of, first_of);
  if (!equal || node.inputs.empty())
    return base::mismatch("it does not compute the value of node " + std::to_string(*node.again) +
                          " again");
  return base::ok();
}

}  // namespace

// Checks each node by itself against the laws, so that a program that was read from a file is as
// safe as one that was planned.
//
// Errors: bad_input for a malformed program; mismatch for an exchange that does not fit what is
// held, a partial result as an output, and a value that is carried to another placement;
// unsupported for an operator without a law; limit on a stop request.
base::Status check(const PlacedGraph& graph, LawCache& laws) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const PlacedNode& node = graph.nodes[i];
    if (base::stop_requested()) return base::limit_hit("interrupted; the program is not checked");
    const std::string place = "node " + std::to_string(i);
    for (const std::size_t input : node.inputs) {
      if (input >= i) return base::bad_input("its inputs must come before it").at(place);
    }
    const auto type = local_type(node.whole, node.placement, graph.mesh);
    if (!type.ok()) return type.status().at(place);
    if (*type != node.type)
      return base::bad_input("the type differs from the one under its placement").at(place);
    const bool leaf = node.kind == Kind::kInput || node.kind == Kind::kConstant;
    if (leaf && node.placement.has_partial())
      return base::bad_input("an input or weight cannot be a partial result").at(place);
    if (node.kind == Kind::kRing) EGRET_RETURN_IF_ERROR(check_ring(graph, node).at(place));
    if (leaf != node.inputs.empty() && node.kind != Kind::kOperator)
      return base::bad_input("wrong number of inputs").at(place);
    if (node.kind == Kind::kOperator)
      EGRET_RETURN_IF_ERROR(check_operator(graph, node, laws).at(place));
    if (node.kind == Kind::kCollective)
      EGRET_RETURN_IF_ERROR(check_collective(graph, node).at(place));
    if (node.kind == Kind::kBack && (!node.again || !(graph.storage_bytes_per_second > 0)))
      return base::bad_input("a copy back needs the node that it copies, and a rate").at(place);
    if (node.again && !graph.in_order)
      return base::bad_input("a value is computed again in a program without an order").at(place);
    if (node.again) EGRET_RETURN_IF_ERROR(check_again(graph, i).at(place));
  }
  for (const auto& output : graph.outputs) {
    if (output.node >= graph.nodes.size())
      return base::bad_input("its node does not exist").at("output " + output.name);
    const Placement& placement = graph.nodes[output.node].placement;
    if (placement.has_partial()) {
      return base::mismatch("it is left as partial results, " + to_string(placement, graph.mesh))
          .at("output " + output.name);
    }
  }
  for (const auto& [node, output] : graph.carried) {
    if (node >= graph.nodes.size() || output >= graph.outputs.size())
      return base::bad_input("a carried value does not exist");
    const PlacedNode& from = graph.nodes[graph.outputs[output].node];
    const PlacedNode& to = graph.nodes[node];
    if (to.kind != Kind::kInput || from.whole != to.whole || from.placement != to.placement) {
      return base::mismatch("it leaves a step as " + to_string(from.placement, graph.mesh) +
                            " and enters the next step as " + to_string(to.placement, graph.mesh))
          .at("carried output " + graph.outputs[output].name);
    }
  }
  return base::ok();
}

}  // namespace egret::parallel

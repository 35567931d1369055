// SPDX-License-Identifier: Apache-2.0
#include "driver/select/region.h"

#include <string>

#include "base/check.h"
#include "ir/graph/constant_nodes.h"

namespace egret::driver {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::NodeKind;

// The nodes on some path between members: those that depend on a member and on which a member
// depends. Two passes in topological order, linear in the graph.
Members convex(const Graph& graph, const Members& members) {
  Members after = members;   // members and what depends on one
  Members before = members;  // members and what one depends on
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const NodeId input : graph.node(NodeId(i)).inputs) after[i] |= after[input.index()];
  }
  for (std::size_t i = graph.size(); i-- > 0;) {
    for (const NodeId input : graph.node(NodeId(i)).inputs) before[input.index()] |= before[i];
  }
  for (std::size_t i = 0; i < graph.size(); ++i) after[i] &= before[i];
  return after;
}

// The region as a graph of its own. Values from outside become inputs, and values that are read
// outside become outputs. Constants come along, so that rules can look at them.
Region cut_out(const Graph& graph, const Members& members) {
  const std::vector<bool> constant = ir::constant_nodes(graph);
  std::vector<char> needed = members;  // in the region or along with it
  std::vector<char> used(graph.size(), 0);
  for (const Graph::Output& output : graph.outputs()) used[output.node.index()] = 1;
  for (std::size_t i = graph.size(); i-- > 0;) {
    for (const NodeId input : graph.node(NodeId(i)).inputs) {
      if (needed[i] != 0 && constant[input.index()]) needed[input.index()] = 1;
      if (members[i] == 0) used[input.index()] = 1;
    }
  }
  Region region;
  std::vector<NodeId> place(graph.size());
  const auto placed = [&](NodeId id) {
    if (!place[id.index()].valid()) {
      place[id.index()] = region.graph.append({.kind = NodeKind::kInput,
                                               .type = graph.node(id).type,
                                               .name = "in" + std::to_string(id.index())});
      region.inputs.push_back(id);
    }
    return place[id.index()];
  };
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (needed[i] == 0) continue;
    Node node = graph.node(NodeId(i));
    for (NodeId& input : node.inputs) input = placed(input);
    place[i] = region.graph.append(std::move(node));
    if (members[i] == 0 || used[i] == 0) continue;
    region.graph.add_output("out" + std::to_string(i), place[i]);
    region.outputs.emplace_back(i);
  }
  return region;
}

namespace {

// Nodes of both graphs under one numbering: first the whole graph's, then the rewritten region's.
class Joiner {
 public:
  Joiner(const Graph& graph, const Region& region, const Graph& rewritten)
      : graph_(graph), rewritten_(rewritten), stands_for_(graph.size() + rewritten.size()) {
    for (std::size_t i = 0; i < stands_for_.size(); ++i) stands_for_[i] = i;
    // An input of the rewritten region stands for a node of the whole graph. A rewritten output
    // takes the place of the node that the region computed.
    for (std::size_t k = 0; k < region.inputs.size(); ++k)
      stands_for_[graph.size() + rewritten.inputs()[k].index()] = region.inputs[k].index();
    for (std::size_t k = 0; k < region.outputs.size(); ++k) {
      stands_for_[region.outputs[k].index()] =
          stands_for_[graph.size() + rewritten.outputs()[k].node.index()];
    }
  }

  PutBack run() {
    result_.graph.copy_header(graph_);
    place_.resize(stands_for_.size());
    for (const NodeId input : graph_.inputs()) build(input.index());
    for (const Graph::Output& output : graph_.outputs()) build(output.node.index());
    for (const Graph::Output& output : graph_.outputs())
      result_.graph.add_output(output.name, place_[stands_for_[output.node.index()]]);
    for (std::size_t i = 0; i < graph_.size(); ++i) result_.place.push_back(place_[stands_for_[i]]);
    return std::move(result_);
  }

 private:
  const Node& node(std::size_t i) const {
    return i < graph_.size() ? graph_.node(NodeId(i)) : rewritten_.node(NodeId(i - graph_.size()));
  }
  std::size_t input(std::size_t i, NodeId input) const {
    return stands_for_[input.index() + (i < graph_.size() ? 0 : graph_.size())];
  }

  // Depth first without recursion: a node is placed when it is met again after its inputs.
  void build(std::size_t wanted) {
    std::vector<std::size_t> stack{stands_for_[wanted]};
    while (!stack.empty()) {
      const std::size_t i = stack.back();
      if (place_[i].valid()) {
        stack.pop_back();
        continue;
      }
      const std::size_t before = stack.size();
      for (const NodeId id : node(i).inputs) {
        if (!place_[input(i, id)].valid()) stack.push_back(input(i, id));
      }
      if (stack.size() > before) continue;
      stack.pop_back();
      Node copy = node(i);
      for (NodeId& id : copy.inputs) id = place_[input(i, id)];
      place_[i] = result_.graph.append(std::move(copy));
    }
  }

  const Graph& graph_;
  const Graph& rewritten_;
  std::vector<std::size_t> stands_for_;
  std::vector<NodeId> place_;  // in the result
  PutBack result_;
};

}  // namespace

PutBack put_back(const Graph& graph, const Region& region, const Graph& rewritten) {
  EGRET_CHECK(rewritten.inputs().size() == region.inputs.size() &&
                  rewritten.outputs().size() == region.outputs.size(),
              "another region");
  return Joiner(graph, region, rewritten).run();
}

}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/regather.h"

#include <algorithm>
#include <set>

namespace egret::parallel {
namespace {

// The nodes that outputs need that are not carried: the loss and what it depends on.
std::vector<bool> forward_pass(const ir::Graph& graph, const std::vector<Carried>& carried) {
  std::vector<bool> forward(graph.size(), false);
  for (const auto& output : graph.outputs()) {
    if (std::ranges::find(carried, output.name, &Carried::output) == carried.end())
      forward[output.node.index()] = true;
  }
  for (std::size_t i = graph.size(); i-- > 0;) {
    if (!forward[i]) continue;
    for (const ir::NodeId input : graph.nodes()[i].inputs) forward[input.index()] = true;
  }
  return forward;
}

std::string fresh(std::string name, std::set<std::string>& names) {
  while (!names.insert(name).second) name += "_";
  return name;
}

}  // namespace

// Carried inputs that both the forward pass and later nodes read get a second input node for the
// later reads. A plan can then hold a parameter in blocks and gather it twice, instead of keeping
// the whole in between.
ir::Graph with_regathers(const ir::Graph& graph, std::vector<Carried>& carried) {
  const std::vector<bool> forward = forward_pass(graph, carried);
  std::vector<bool> early(graph.size(), false);
  std::vector<bool> late(graph.size(), false);
  std::set<std::string> names;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    names.insert(graph.nodes()[i].name);
    for (const ir::NodeId input : graph.nodes()[i].inputs)
      (forward[i] ? early : late)[input.index()] = true;
  }
  ir::Graph result;
  result.copy_header(graph);
  std::vector<ir::NodeId> first(graph.size());
  std::vector<ir::NodeId> again(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    ir::Node node = graph.nodes()[i];
    for (ir::NodeId& input : node.inputs) {
      const ir::NodeId second = again[input.index()];
      input = !forward[i] && second.valid() ? second : first[input.index()];
    }
    const auto own = std::ranges::find(carried, node.name, &Carried::input);
    first[i] = result.append(node);
    if (node.kind != ir::NodeKind::kInput || own == carried.end() || !early[i] || !late[i])
      continue;
    node.name = own->again = fresh(node.name + ".again", names);
    again[i] = result.append(node);
  }
  for (const auto& output : graph.outputs())
    result.add_output(output.name, first[output.node.index()]);
  return result;
}

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include "parallel/placed/program_interface.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/hash.h"
#include "ir/graph/graph_text.h"

namespace egret::parallel {
namespace {

std::string names_of(const auto& outputs) {
  std::string names;
  for (const auto& output : outputs) names += (names.empty() ? "'" : ", '") + output.name + "'";
  return names;
}

}  // namespace

// Over the graph's text.
std::string model_hash(const ir::Graph& model) {
  ir::Graph bare = model;
  bare.name.clear();
  bare.metadata.clear();
  return base::content_hash(ir::to_text(bare)).to_hex();
}

base::Status check_outputs(const PlacedGraph& placed, const ir::Graph& model) {
  if (std::ranges::equal(placed.outputs, model.outputs(), {}, &PlacedGraph::Output::name,
                         &ir::Graph::Output::name))
    return base::ok();
  return base::mismatch("the outputs of the plan are " + names_of(placed.outputs) +
                        ", and those of the model " + names_of(model.outputs()));
}

base::Status check_carried(const PlacedGraph& placed, const ir::TrainingGraph* step) {
  std::map<std::string, std::string> expected;  // outputs by input
  if (step != nullptr) {
    const ir::Graph& graph = step->graph;
    for (std::size_t i = 0; i < step->initial.size(); ++i) {
      const ir::NodeId input = graph.inputs()[step->model_inputs + 1 + i];
      expected[graph.node(input).name] = graph.outputs()[1 + i].name;
    }
  }
  std::map<std::size_t, std::string> carried;  // outputs by node
  for (const auto& [node, output] : placed.carried) {
    const std::string& from = placed.outputs[output].name;
    if (carried.emplace(node, from).second) continue;
    return base::mismatch("outputs '" + carried[node] + "' and '" + from +
                          "' are carried to one input of the next step");
  }
  for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
    const PlacedNode& node = placed.nodes[i];
    if (node.kind != PlacedNode::Kind::kInput) continue;
    const auto found = carried.find(i);
    const auto next = expected.find(node.name);
    const std::string is = found == carried.end() ? "nothing" : "'" + found->second + "'";
    const std::string should = next == expected.end() ? "nothing" : "'" + next->second + "'";
    if (is == should) continue;
    return base::mismatch("the next step's input '" + node.name + "' takes " + is +
                          " of this step, and should take " + should);
  }
  return base::ok();
}

}  // namespace egret::parallel

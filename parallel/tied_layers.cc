// SPDX-License-Identifier: Apache-2.0
#include "parallel/tied_layers.h"

#include <algorithm>
#include <set>

#include "base/hash.h"

namespace egret::parallel {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::NodeKind;

constexpr int kSteps = 3;  // of surroundings; of what seams have in common it may be fewer
constexpr std::size_t kMostSeamKinds = 256;

// A leaf as all that is like it: weights by their type.
std::string text_of_leaf(NodeKind kind, const std::string& name, const ir::TensorType& type,
                         const ir::Tensor& data) {
  if (kind == NodeKind::kInput) return "input " + name;
  if (!name.empty() && type.elements() > 1) return "weight " + ir::to_string(type);
  return "constant " + data.content_hash().to_hex();
}

std::string text_of_application(const Node& node) {
  return node.op->name() + to_string(node.attrs) + ir::to_string(node.type);
}

// The program of `last` over `first`, as text by which equal programs are told; empty where it
// needs another value that is no constant.
std::string layer_text(const Graph& graph, NodeId first, NodeId last) {
  std::map<std::size_t, std::size_t> numbers{{first.index(), 0}};
  std::string text;
  std::set<std::size_t> needed{last.index()};
  // Nodes in topological order: those that are needed are found from the end.
  for (std::size_t i = last.index(); i > first.index(); --i) {
    if (!needed.contains(i)) continue;
    for (const NodeId input : graph.node(NodeId(i)).inputs) {
      const bool constant = graph.node(input).kind == NodeKind::kConstant;
      if (input.index() < first.index() && !constant) return {};
      if (!constant && input != first) needed.insert(input.index());
    }
  }
  for (const std::size_t i : needed) {
    const Node& node = graph.node(NodeId(i));
    if (node.kind != NodeKind::kOperator) return {};
    text += text_of_application(node) + "(";
    for (const NodeId input : node.inputs) {
      const Node& from = graph.node(input);
      text += from.kind == NodeKind::kConstant
                  ? text_of_leaf(from.kind, from.name, from.type, from.data)
                  : std::to_string(numbers.at(input.index()));
      text += ",";
    }
    text += ")";
    numbers.emplace(i, numbers.size());
  }
  return text;
}

// The values that look alike within so many steps down, most of a kind first.
std::vector<std::vector<NodeId>> alike(const Graph& graph, int steps) {
  std::vector<std::uint64_t> colour(graph.size(), 0);
  for (int step = 0; step <= steps; ++step) {
    std::vector<std::uint64_t> next;
    for (const Node& node : graph.nodes()) {
      std::string text = node.kind == NodeKind::kOperator
                             ? text_of_application(node)
                             : text_of_leaf(node.kind, node.name, node.type, node.data);
      for (const NodeId input : node.inputs) text += " " + std::to_string(colour[input.index()]);
      next.push_back(base::hash_string(text, 0));
    }
    colour = std::move(next);
  }
  std::map<std::uint64_t, std::vector<NodeId>> groups;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(NodeId(i)).kind == NodeKind::kOperator) groups[colour[i]].push_back(NodeId(i));
  }
  std::vector<std::vector<NodeId>> kinds;
  for (auto& [unused, members] : groups) {
    if (members.size() > 1) kinds.push_back(std::move(members));
  }
  std::ranges::stable_sort(kinds, std::greater(), &std::vector<NodeId>::size);
  return kinds;
}

// The longest run of seams, of these values, between which the programs are equal.
std::vector<NodeId> layers_between(const Graph& graph, std::span<const NodeId> values) {
  std::vector<NodeId> best;
  std::vector<NodeId> run;
  std::string before;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const std::string text = layer_text(graph, values[i - 1], values[i]);
    if (text.empty() || text != before) run = {values[i - 1]};
    before = text;
    if (text.empty()) continue;
    run.push_back(values[i]);
    if (run.size() > best.size()) best = run;
  }
  return best;
}

// The program that goes on after `last` with the value `first`.
Graph without(const Graph& graph, NodeId first, NodeId last) {
  Graph result;
  std::vector<NodeId> place(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (i == last.index()) {
      place[i] = place[first.index()];
      continue;
    }
    Node node = graph.node(NodeId(i));
    for (NodeId& input : node.inputs) input = place[input.index()];
    place[i] = result.append(std::move(node));
  }
  for (const auto& output : graph.outputs())
    result.add_output(output.name, place[output.node.index()]);
  return ir::without_dead_nodes(result);
}

// What surrounds the values of a sequential e-graph.
std::map<egraph::ClassId, std::string> surroundings(const rules::TensorEGraph& tensors) {
  const egraph::EGraph& egraph = tensors.egraph();
  const rules::TensorLanguage& language = tensors.language();
  std::map<egraph::ClassId, std::uint64_t> colour;
  for (int step = 0; step <= kSteps; ++step) {
    std::map<egraph::ClassId, std::vector<std::uint64_t>> seen;
    for (const egraph::ClassId value : egraph.classes()) {
      for (const egraph::NodeId node : egraph.nodes(value)) {
        const egraph::OpId op = egraph.op(node);
        std::string text = ir::to_string(tensors.type(value));
        if (language.kind(op) == NodeKind::kOperator) {
          text += language.op(op).name() + to_string(language.attrs(op));
        } else {
          const bool constant = language.is_constant(op);
          text += text_of_leaf(language.kind(op), language.leaf_name(op), tensors.type(value),
                               constant ? language.tensor(op) : ir::Tensor());
        }
        for (const egraph::ClassId child : egraph.children(node))
          text += " " + std::to_string(colour[egraph.find(child)]);
        const std::uint64_t down = base::hash_string(text, 0);
        seen[value].push_back(down);
        std::uint64_t operand = 0;
        for (const egraph::ClassId child : egraph.children(node)) {
          seen[egraph.find(child)].push_back(
              base::hash_combine(base::hash_combine(colour[value], down), ++operand));
        }
      }
    }
    for (auto& [value, hashes] : seen) {
      std::ranges::sort(hashes);
      std::uint64_t all = 1;
      for (const std::uint64_t one : hashes) all = base::hash_combine(all, one);
      colour[value] = all;
    }
  }
  std::map<egraph::ClassId, std::string> result;
  for (const auto& [value, number] : colour) result[value] = std::to_string(number);
  return result;
}

// How a node of the view distributes its operator.
std::string text_of_choice(const PlacedEGraph& placed, const Pricing& pricing,
                           Pricing::Index node) {
  const egraph::EGraphView& view = pricing.view();
  const PlacedEGraph::Meaning& meaning = placed.meaning(view.node_op[node]);
  const rules::TensorLanguage& language = placed.tensors().language();
  const auto placement = [&](Pricing::Index c) {
    return to_string(placed.placed(view.class_id[c]).placement, placed.mesh());
  };
  std::string text = language.op(meaning.sequential).name() +
                     to_string(language.attrs(meaning.sequential)) + to_string(meaning.part_attrs) +
                     placement(view.node_class[node]);
  for (const Pricing::Index child : view.children_of(node)) text += " " + placement(child);
  return text;
}

bool is_operator(const PlacedEGraph& placed, const Pricing& pricing, Pricing::Index node) {
  return placed.meaning(pricing.view().node_op[node]).kind == PlacedEGraph::Kind::kOperator;
}

egraph::ClassId value_of(const PlacedEGraph& placed, const Pricing& pricing, Pricing::Index node) {
  const egraph::EGraphView& view = pricing.view();
  return placed.placed(view.class_id[view.node_class[node]]).value;
}

}  // namespace

std::optional<FewerLayers> with_fewer_layers(const Graph& graph, std::int64_t layers) {
  std::optional<FewerLayers> best;
  const auto consider = [&](std::span<const NodeId> values) {
    const std::vector<NodeId> seams = layers_between(graph, values);
    const auto found = static_cast<std::int64_t>(seams.size()) - 1;
    if (found <= layers) return;
    Graph fewer = without(graph, seams[static_cast<std::size_t>(layers)], seams.back());
    // What is inside of a layer and read outside would stay.
    const Graph one_less = without(graph, seams[seams.size() - 2], seams.back());
    const std::size_t removed = graph.operator_count() - fewer.operator_count();
    const std::size_t of_one = graph.operator_count() - one_less.operator_count();
    if (removed != of_one * static_cast<std::size_t>(found - layers)) return;
    if (best && best->graph.operator_count() <= fewer.operator_count()) return;
    best = FewerLayers{std::move(fewer), found};
  };
  for (int steps = 0; steps <= kSteps; ++steps) {
    std::vector<std::vector<NodeId>> kinds = alike(graph, steps);
    kinds.resize(std::min(kinds.size(), kMostSeamKinds));
    for (const std::vector<NodeId>& values : kinds) consider(values);
  }
  return best;
}

TiedChoices choices_of(const PlacedEGraph& placed, const Pricing& pricing,
                       const extract::Solution& solution) {
  const auto around = surroundings(placed.tensors());
  TiedChoices choices;
  for (const extract::NodeIndex node : solution.choice) {
    if (node == extract::kNoNode || !is_operator(placed, pricing, node)) continue;
    choices[around.at(value_of(placed, pricing, node))].push_back(
        text_of_choice(placed, pricing, node));
  }
  return choices;
}

std::vector<Pricing::Index> nodes_not_tied(const PlacedEGraph& placed, const Pricing& pricing,
                                           const TiedChoices& choices) {
  const auto around = surroundings(placed.tensors());
  std::vector<Pricing::Index> nodes;
  for (Pricing::Index node = 0; node < pricing.view().node_count(); ++node) {
    if (!is_operator(placed, pricing, node)) continue;
    const auto known = choices.find(around.at(value_of(placed, pricing, node)));
    if (known == choices.end()) continue;
    const std::string text = text_of_choice(placed, pricing, node);
    if (std::ranges::find(known->second, text) == known->second.end()) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace egret::parallel

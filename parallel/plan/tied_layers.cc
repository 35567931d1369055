// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/tied_layers.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/check.h"

namespace egret::parallel {
namespace {

using egraph::ClassId;
using Kind = PlacedEGraph::Kind;

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// The classes reachable from these through any e-node's children.
std::vector<bool> reached_from(const egraph::EGraph& egraph, std::vector<ClassId> stack) {
  std::vector<bool> reached(egraph.id_count(), false);
  for (const ClassId id : stack) reached[id.index()] = true;
  while (!stack.empty()) {
    const ClassId at = stack.back();
    stack.pop_back();
    for (const egraph::NodeId node : egraph.nodes(at)) {
      for (const ClassId input : egraph.children(node)) {
        const ClassId child = egraph.find(input);
        if (reached[child.index()]) continue;
        reached[child.index()] = true;
        stack.push_back(child);
      }
    }
  }
  return reached;
}

// The classes that reach `goal` through some e-node's children.
std::vector<bool> that_reach(const egraph::EGraph& egraph, ClassId goal) {
  std::vector<std::vector<ClassId>> readers(egraph.id_count());
  for (const ClassId id : egraph.classes()) {
    for (const egraph::NodeId node : egraph.nodes(id)) {
      for (const ClassId child : egraph.children(node))
        readers[egraph.find(child).index()].push_back(id);
    }
  }
  std::vector<bool> reach(egraph.id_count(), false);
  std::vector<ClassId> stack{goal};
  reach[goal.index()] = true;
  while (!stack.empty()) {
    const ClassId at = stack.back();
    stack.pop_back();
    for (const ClassId reader : readers[at.index()]) {
      if (reach[reader.index()]) continue;
      reach[reader.index()] = true;
      stack.push_back(reader);
    }
  }
  return reach;
}

}  // namespace

// Sections by reachability in the e-graph: what the first seam is computed from lies before it,
// what else the second seam is computed from is the repeated layer, and the rest comes after. Costs
// of the repeated section are multiplied (counts()), and no operator may read across a seam
// (crossing()). The candidate placements are those under which some operator computes the first
// seam.
TiedLayers::TiedLayers(const PlacedEGraph& placed, const egraph::EGraphView& view,
                       const FewerLayers& fewer)
    : placed_(placed),
      view_(view),
      fewer_(fewer),
      first_(placed.tensors().value(fewer.first)),
      second_(placed.tensors().value(fewer.second)) {
  const egraph::EGraph& egraph = placed.tensors().egraph();
  const std::vector<bool> before = reached_from(egraph, {first_});
  const std::vector<bool> until = reached_from(egraph, {second_});
  depends_ = that_reach(egraph, placed.tensors().value(fewer.before));
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Section inner = until[i] ? Section::kRepeated : Section::kAfter;
    sections_.push_back(before[i] ? Section::kBefore : inner);
  }
  std::set<Placement> computed;
  for (Index node = 0; node < view.node_count(); ++node) {
    if (computes(node, first_))
      computed.insert(placed.placed(view.class_id[view.node_class[node]]).placement);
  }
  placements_.assign(computed.begin(), computed.end());
}

bool TiedLayers::computes(Index node, ClassId value) const {
  return placed_.meaning(view_.node_op[node]).kind == Kind::kOperator &&
         placed_.placed(view_.class_id[view_.node_class[node]]).value == value;
}

// Collectives on the value between two layers belong to the next layer.
TiedLayers::Section TiedLayers::section(ClassId value, bool collective) const {
  if (collective && value == first_) return Section::kRepeated;
  if (collective && value == second_) return Section::kAfter;
  return section_of_value(value);
}

// The repeated layer stands for `repeats` layers of the whole program.
std::vector<double> TiedLayers::counts() const {
  std::vector<double> counts;
  for (Index node = 0; node < view_.node_count(); ++node) {
    const Kind kind = placed_.meaning(view_.node_op[node]).kind;
    const bool is_repeated = (kind == Kind::kOperator || kind == Kind::kCollective) &&
                             section(placed_.placed(view_.class_id[view_.node_class[node]]).value,
                                     kind == Kind::kCollective) == Section::kRepeated;
    counts.push_back(is_repeated ? static_cast<double>(fewer_.repeats) : 1);
  }
  return counts;
}

// E-nodes that would join two sections. Only values that depend on what lies before the layers
// matter: others, such as a mask, are the same in all layers.
std::vector<TiedLayers::Index> TiedLayers::crossing() const {
  std::vector<Index> nodes;
  for (Index node = 0; node < view_.node_count(); ++node) {
    if (placed_.meaning(view_.node_op[node]).kind != Kind::kOperator) continue;
    const ClassId value = placed_.placed(view_.class_id[view_.node_class[node]]).value;
    const Section own = section_of_value(value);
    const auto crosses = [&](Index child) {
      const ClassId read = placed_.placed(view_.class_id[child]).value;
      const bool seam = (own == Section::kRepeated && read == first_) ||
                        (own == Section::kAfter && read == second_);
      return !seam && depends_[read.index()] && section_of_value(read) != own;
    };
    if (std::ranges::any_of(view_.children_of(node), crosses)) nodes.push_back(node);
  }
  return nodes;
}

// Forbidding these ties the layers: both seams have the given placement, so copies of the layer fit
// together.
std::vector<TiedLayers::Index> TiedLayers::nodes_against(const Placement& placement) const {
  std::vector<Index> nodes;
  for (Index node = 0; node < view_.node_count(); ++node) {
    if (!computes(node, first_) && !computes(node, second_)) continue;
    if (placed_.placed(view_.class_id[view_.node_class[node]]).placement != placement)
      nodes.push_back(node);
  }
  return nodes;
}

// The placement between the layers; nothing if the two seams differ or have several placements.
std::optional<Placement> TiedLayers::placement_of(const extract::Solution& solution) const {
  std::vector<Placement> of_first;
  std::vector<Placement> of_second;
  for (const extract::NodeIndex node : solution.choice) {
    if (node == extract::kNoNode) continue;
    const Index c = view_.node_class[node];
    if (computes(node, first_)) of_first.push_back(placed_.placed(view_.class_id[c]).placement);
    if (computes(node, second_)) of_second.push_back(placed_.placed(view_.class_id[c]).placement);
  }
  if (of_first.size() != 1 || of_first != of_second) return std::nullopt;
  return of_first.front();
}

// Writes the sections one after the other, the repeated one once per layer. `place` maps a node of
// the short program to its latest copy. Before each further copy, the value that the layer reads is
// mapped to the value that the previous copy gave.
PlacedGraph TiedLayers::repeated(const WrittenProgram& program, const ir::Graph& whole) const {
  const std::vector<PlacedNode>& nodes = program.graph.nodes;
  const auto section_of = [&](std::size_t i) {
    return section(program.values[i], nodes[i].kind == PlacedNode::Kind::kCollective);
  };
  // Rules may remove a mark; the operator before it is then in the mark's class.
  const auto is_mark = [&](std::size_t i) {
    return nodes[i].op == &seam_mark() &&
           (program.values[i] == first_ || program.values[i] == second_);
  };
  std::size_t first = kNone;
  std::size_t second = kNone;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind != PlacedNode::Kind::kOperator) continue;
    if (program.values[i] == first_) first = i;
    if (program.values[i] == second_) second = i;
  }
  EGRET_CHECK(first != kNone && second != kNone, "layers without a value between them");
  PlacedGraph result;
  result.mesh = program.graph.mesh;
  std::vector<std::size_t> place(nodes.size(), kNone);
  const auto append = [&](Section wanted, std::size_t copy) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (section_of(i) != wanted) continue;
      if (is_mark(i)) {
        place[i] = place[nodes[i].inputs.front()];
        continue;
      }
      PlacedNode node = nodes[i];
      for (std::size_t& input : node.inputs) {
        EGRET_CHECK(place[input] != kNone, "a layer that reads a later one");
        input = place[input];
      }
      if (node.kind == PlacedNode::Kind::kConstant) {
        const auto weight = fewer_.weights.find(node.data.content_hash());
        if (weight != fewer_.weights.end()) {
          const ir::Node& own = whole.node(weight->second[copy]);
          node.name = own.name;
          node.data = own.data;
        }
      }
      place[i] = result.nodes.size();
      result.nodes.push_back(std::move(node));
    }
  };
  append(Section::kBefore, 0);
  for (std::size_t copy = 0; copy < static_cast<std::size_t>(fewer_.repeats); ++copy) {
    // The next copy reads what the copy before has given.
    if (copy > 0) place[first] = place[second];
    append(Section::kRepeated, copy);
  }
  append(Section::kAfter, 0);
  for (const auto& [name, node] : program.graph.outputs)
    result.outputs.push_back({name, place[node]});
  return result;
}

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/program_writer.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace egret::parallel {
namespace {

using egraph::EGraphView;
using Kind = PlacedEGraph::Kind;

class ProgramWriter {
 public:
  ProgramWriter(const PlacedEGraph& placed, const EGraphView& view,
                const extract::Solution& solution, std::span<const Carried> carried,
                const Schedule& schedule)
      : placed_(placed),
        view_(view),
        solution_(solution),
        carried_(carried),
        schedule_(schedule),
        built_(view.class_count(), kNone) {
    program_.mesh = placed_.mesh();
  }

  void write_output(const std::string& name, EGraphView::Index root) {
    const extract::NodeIndex node = solution_.choice[root];
    const bool keeps = placed_.meaning(view_.node_op[node]).kind == Kind::kKeep;
    const EGraphView::Index value = keeps ? view_.children_of(node).front() : root;
    write_from(value);
    program_.outputs.push_back({name, built_[value]});
  }

  WrittenProgram finish() {
    put_in_order();
    for (const Carried& one : carried_) write_carried(one);
    return {std::move(program_), std::move(values_)};
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  // A value that nothing reads is not kept.
  void write_carried(const Carried& carried) {
    const auto node = std::ranges::find_if(program_.nodes, [&](const PlacedNode& one) {
      return one.kind == PlacedNode::Kind::kInput && one.name == carried.input;
    });
    const auto output =
        std::ranges::find(program_.outputs, carried.output, &PlacedGraph::Output::name);
    if (node == program_.nodes.end()) return;
    program_.carried.push_back({static_cast<std::size_t>(node - program_.nodes.begin()),
                                static_cast<std::size_t>(output - program_.outputs.begin())});
  }

  // A collective from blocks: a gather, whose result is larger than its operand, or an exchange.
  static bool grows(const PlacedNode& node) {
    return node.kind == PlacedNode::Kind::kCollective && node.collective.from.is_split();
  }

  // Orders the nodes by the levels of the schedule, which the memory constraints assume. Three
  // corrections follow. A node comes no earlier than its inputs. A collective from blocks waits
  // until the level of its first reader. So does a node without inputs.
  void put_in_order() {
    std::vector<PlacedNode>& nodes = program_.nodes;
    std::vector<int> keys(levels_);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const std::size_t input : nodes[i].inputs) keys[i] = std::max(keys[i], keys[input]);
    }
    std::vector<int> first_use(nodes.size(), std::numeric_limits<int>::max());
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const bool used = first_use[i] != std::numeric_limits<int>::max();
      if (used && (grows(nodes[i]) || nodes[i].inputs.empty())) keys[i] = first_use[i];
      for (const std::size_t input : nodes[i].inputs)
        first_use[input] = std::min(first_use[input], keys[i]);
    }
    std::vector<std::size_t> order(nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return keys[i]; });
    std::vector<std::size_t> place(nodes.size());
    std::vector<PlacedNode> sorted;
    std::vector<egraph::ClassId> values;
    for (const std::size_t i : order) {
      place[i] = sorted.size();
      sorted.push_back(std::move(nodes[i]));
      values.push_back(values_[i]);
    }
    nodes = std::move(sorted);
    values_ = std::move(values);
    for (PlacedNode& node : nodes) {
      for (std::size_t& input : node.inputs) input = place[input];
    }
    for (PlacedGraph::Output& output : program_.outputs) output.node = place[output.node];
  }

  // Depth first without recursion: a class is written when its children are.
  void write_from(extract::ClassIndex root) {
    std::vector<extract::ClassIndex> stack{root};
    while (!stack.empty()) {
      const extract::ClassIndex at = stack.back();
      const extract::NodeIndex node = solution_.choice[at];
      bool ready = true;
      if (!is_leaf(node)) {
        const auto children = view_.children_of(node);
        for (auto child = children.rbegin(); child != children.rend(); ++child) {
          if (built_[*child] != kNone) continue;
          stack.push_back(*child);
          ready = false;
        }
      }
      if (!ready) continue;
      stack.pop_back();
      if (built_[at] == kNone) built_[at] = append(node);
    }
  }

  bool is_leaf(extract::NodeIndex node) const {
    return placed_.meaning(view_.node_op[node]).kind == Kind::kPlace;
  }

  // Of an input, where it may be the second reading of one.
  std::string name_of(const std::string& leaf) const {
    const auto second = std::ranges::find(carried_, leaf, &Carried::again);
    return second == carried_.end() || leaf.empty() ? leaf : second->input;
  }

  // The place of the node in the program. Two readings of one input in the same placement share one
  // node.
  std::size_t append(extract::NodeIndex node) {
    const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
    if (meaning.kind == Kind::kSame) return built_[view_.children_of(node).front()];
    const auto& placed = placed_.placed(view_.class_id[view_.node_class[node]]);
    const rules::TensorEGraph& tensors = placed_.tensors();
    PlacedNode result;
    result.whole = tensors.type(placed.value);
    result.type = placed.type;
    result.placement = placed.placement;
    if (meaning.kind == Kind::kPlace) {
      const egraph::OpId leaf = tensors.egraph().op(placed_.leaf_of(placed.value));
      const bool constant = tensors.language().is_constant(leaf);
      result.kind = constant ? PlacedNode::Kind::kConstant : PlacedNode::Kind::kInput;
      result.name = name_of(tensors.language().leaf_name(leaf));
      const auto known = std::ranges::find_if(program_.nodes, [&](const PlacedNode& other) {
        return !constant && other.kind == PlacedNode::Kind::kInput && other.name == result.name &&
               other.placement == result.placement;
      });
      if (known != program_.nodes.end())
        return static_cast<std::size_t>(known - program_.nodes.begin());
      if (constant) result.data = tensors.language().tensor(leaf);
    } else {
      for (const auto child : view_.children_of(node)) result.inputs.push_back(built_[child]);
      if (meaning.kind == Kind::kCollective) {
        result.kind = PlacedNode::Kind::kCollective;
        result.collective = meaning.collective;
      } else if (meaning.kind == Kind::kRing) {
        result.kind = PlacedNode::Kind::kRing;
        result.ring = *meaning.ring;
        result.planned_ring = meaning.program;
      } else {
        result.op = &tensors.language().op(meaning.sequential);
        result.attrs = tensors.language().attrs(meaning.sequential);
        result.part_attrs = meaning.part_attrs;
      }
    }
    program_.nodes.push_back(std::move(result));
    levels_.push_back(schedule_.of(placed.value).from);
    values_.push_back(placed.value);
    return program_.nodes.size() - 1;
  }

  const PlacedEGraph& placed_;
  const EGraphView& view_;
  const extract::Solution& solution_;
  const std::span<const Carried> carried_;
  const Schedule& schedule_;
  PlacedGraph program_;
  std::vector<int> levels_;              // by node of the program
  std::vector<egraph::ClassId> values_;  // likewise
  std::vector<std::size_t> built_;       // by class
};

}  // namespace

WrittenProgram write_program(const PlacedEGraph& placed, const EGraphView& view,
                             const extract::Solution& solution,
                             std::span<const std::string> outputs, std::span<const Carried> carried,
                             const Schedule& schedule) {
  ProgramWriter writer(placed, view, solution, carried, schedule);
  for (std::size_t i = 0; i < outputs.size(); ++i) writer.write_output(outputs[i], view.roots[i]);
  return writer.finish();
}

}  // namespace egret::parallel

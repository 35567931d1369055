// SPDX-License-Identifier: Apache-2.0
#include "parallel/program_writer.h"

#include <algorithm>
#include <limits>

namespace egret::parallel {
namespace {

using egraph::EGraphView;
using Kind = PlacedEGraph::Kind;

class ProgramWriter {
 public:
  ProgramWriter(const PlacedEGraph& placed, const EGraphView& view,
                const extract::Solution& solution)
      : placed_(placed), view_(view), solution_(solution), built_(view.class_count(), kNone) {
    program_.mesh = placed_.mesh();
  }

  void write_output(const std::string& name, EGraphView::Index root) {
    const extract::NodeIndex node = solution_.choice[root];
    const bool keeps = placed_.meaning(view_.node_op[node]).kind == Kind::kKeep;
    const EGraphView::Index value = keeps ? view_.children_of(node).front() : root;
    write_from(value);
    program_.outputs.push_back({name, built_[value]});
  }

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

  PlacedGraph take() { return std::move(program_); }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

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

  std::size_t append(extract::NodeIndex node) {
    const PlacedEGraph::Meaning& meaning = placed_.meaning(view_.node_op[node]);
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
      result.name = tensors.language().leaf_name(leaf);
      if (constant) result.data = tensors.language().tensor(leaf);
    } else {
      for (const auto child : view_.children_of(node)) result.inputs.push_back(built_[child]);
      if (meaning.kind == Kind::kCollective) {
        result.kind = PlacedNode::Kind::kCollective;
        result.collective = meaning.collective;
      } else {
        result.op = &tensors.language().op(meaning.sequential);
        result.attrs = tensors.language().attrs(meaning.sequential);
        result.part_attrs = meaning.part_attrs;
      }
    }
    program_.nodes.push_back(std::move(result));
    return program_.nodes.size() - 1;
  }

  const PlacedEGraph& placed_;
  const EGraphView& view_;
  const extract::Solution& solution_;
  PlacedGraph program_;
  std::vector<std::size_t> built_;  // by class
};

}  // namespace

PlacedGraph write_program(const PlacedEGraph& placed, const EGraphView& view,
                          const extract::Solution& solution, std::span<const std::string> outputs,
                          std::span<const Carried> carried) {
  ProgramWriter writer(placed, view, solution);
  for (std::size_t i = 0; i < outputs.size(); ++i) writer.write_output(outputs[i], view.roots[i]);
  for (const Carried& one : carried) writer.write_carried(one);
  return writer.take();
}

}  // namespace egret::parallel

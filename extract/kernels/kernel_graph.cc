// SPDX-License-Identifier: Apache-2.0
#include "extract/kernels/kernel_graph.h"

#include <algorithm>
#include <set>

namespace egret::extract {
namespace {

class Builder {
 public:
  Builder(const EGraphView& graph, const std::vector<bool>& leaves, const Pieces& pieces,
          const std::vector<bool>& formed)
      : graph_(graph), leaves_(leaves), pieces_(pieces), formed_(formed) {}

  KernelGraph run() {
    result_.has_forms = !formed_.empty();
    find_inputs();
    number_classes();
    result_.node_of.assign(pieces_.all.size(), kNoNode);
    for (ClassIndex c = 0; c < graph_.class_count(); ++c) {
      if (leaves_[c]) add(KernelGraph::kLeaf, {});
      add_form(c, 0);
    }
    for (const auto& [key, c] : result_.in_form) add_form(key.first, key.second);
    for (const std::uint32_t number : joint_) {
      add(number, inputs_[number]);
      end_class();
    }
    return std::move(result_);
  }

 private:
  using Key = std::pair<ClassIndex, std::uint32_t>;  // a value and its form

  bool has_forms(ClassIndex c) const { return !formed_.empty() && formed_[c]; }
  std::uint32_t form_of(ClassIndex c, std::uint32_t form) const { return has_forms(c) ? form : 0; }

  // As values of the e-graph. Leaves that are read in other forms are copied before.
  void find_inputs() {
    for (const Piece& piece : pieces_.all) {
      std::vector<ClassIndex>& inputs = inputs_.emplace_back(piece.inputs);
      if (piece.reads == 0) continue;
      for (const NodeIndex node : piece.nodes) {
        for (const ClassIndex child : graph_.children_of(node)) {
          if (leaves_[child] && has_forms(child)) inputs.push_back(child);
        }
      }
      std::ranges::sort(inputs);
      const auto repeated = std::ranges::unique(inputs);
      inputs.erase(repeated.begin(), repeated.end());
    }
  }

  void number_classes() {
    for (std::uint32_t i = 0; i < pieces_.all.size(); ++i) {
      const Piece& piece = pieces_.all[i];
      for (const ClassIndex c : inputs_[i]) forms_[c].insert(form_of(c, piece.reads));
      if (piece.is_joint()) joint_.push_back(i);
      std::vector<NodeIndex> stored = piece.stored;
      stored.push_back(piece.root());
      for (const NodeIndex node : stored) {
        const ClassIndex c = graph_.node_class[node];
        const std::uint32_t form = form_of(c, piece.writes);
        forms_[c].insert(form);
        if (piece.is_joint()) joint_in_[{c, form}].push_back(i);
      }
    }
    EGraphView& view = result_.graph;
    view.roots = graph_.roots;
    view.class_id = graph_.class_id;
    for (ClassIndex c = 0; c < graph_.class_count(); ++c) result_.value.push_back(c);
    const auto number = [&](ClassIndex value) {
      result_.value.push_back(value);
      return static_cast<ClassIndex>(result_.value.size() - 1);
    };
    for (auto& [c, forms] : forms_) {
      forms.insert(0);
      for (const std::uint32_t form : forms) {
        if (form > 0) result_.in_form.emplace(Key(c, form), number(c));
      }
    }
    for (const std::uint32_t i : joint_) own_class_[i] = number(KernelGraph::kNoValue);
    std::size_t id = 0;
    for (const egraph::ClassId known : graph_.class_id)
      id = std::max<std::size_t>(id, known.index() + 1);
    while (view.class_id.size() < result_.value.size()) view.class_id.emplace_back(id++);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      for (ClassIndex& c : inputs_[i]) c = result_.class_of(c, form_of(c, pieces_.all[i].reads));
    }
  }

  void add_form(ClassIndex c, std::uint32_t form) {
    for (const std::uint32_t number : pieces_.of_class[c]) {
      if (form_of(c, pieces_.all[number].writes) == form) add(number, inputs_[number]);
    }
    if (const auto found = joint_in_.find({c, form}); found != joint_in_.end()) {
      for (const std::uint32_t number : found->second)
        add(KernelGraph::kSlice, {&own_class_.at(number), 1});
    }
    if (const auto found = forms_.find(c); found != forms_.end()) {
      for (const std::uint32_t from : found->second) {
        if (from == form || (leaves_[c] && form == 0)) continue;
        const ClassIndex other = result_.class_of(c, from);
        add(KernelGraph::kCopied, {&other, 1});
        result_.copy.back() = static_cast<std::uint32_t>(result_.copies.size());
        result_.copies.push_back({c, from, form, static_cast<NodeIndex>(result_.piece.size() - 1)});
      }
    }
    end_class();
  }

  void add(std::uint32_t piece, std::span<const ClassIndex> inputs) {
    EGraphView& view = result_.graph;
    if (piece < KernelGraph::kCopied)
      result_.node_of[piece] = static_cast<NodeIndex>(view.node_op.size());
    view.node_class.push_back(next_class_);
    view.node_op.emplace_back(0);
    view.children.insert(view.children.end(), inputs.begin(), inputs.end());
    view.child_begin.push_back(static_cast<EGraphView::Index>(view.children.size()));
    result_.piece.push_back(piece);
    result_.copy.push_back(0);
  }
  void end_class() {
    EGraphView& view = result_.graph;
    view.class_begin.push_back(static_cast<EGraphView::Index>(view.node_op.size()));
    ++next_class_;
  }

  const EGraphView& graph_;
  const std::vector<bool>& leaves_;
  const Pieces& pieces_;
  const std::vector<bool>& formed_;
  std::vector<std::vector<ClassIndex>> inputs_;          // by piece
  std::map<ClassIndex, std::set<std::uint32_t>> forms_;  // in which a value is stored or read
  std::map<Key, std::vector<std::uint32_t>> joint_in_;   // the joint pieces that store it
  std::vector<std::uint32_t> joint_;
  std::map<std::uint32_t, ClassIndex> own_class_;  // of joint pieces
  ClassIndex next_class_ = 0;
  KernelGraph result_;
};

}  // namespace

KernelGraph kernel_graph(const EGraphView& graph, const std::vector<bool>& leaves,
                         const Pieces& pieces, const std::vector<bool>& formed) {
  return Builder(graph, leaves, pieces, formed).run();
}

std::vector<double> KernelGraph::costs(const std::vector<double>& prices,
                                       const std::vector<double>& copy_prices) const {
  std::vector<double> costs;
  for (NodeIndex node = 0; node < piece.size(); ++node) {
    const bool copies_value = piece[node] == kCopied;
    costs.push_back(is_piece(node) ? prices[piece[node]]
                    : copies_value ? copy_prices[copy[node]]
                                   : 0);
  }
  return costs;
}

std::vector<NodeIndex> KernelGraph::choice_of(const Pieces& pieces,
                                              std::span<const Maker> makers) const {
  std::vector<NodeIndex> choice(graph.class_count(), kNoNode);
  for (NodeIndex node = 0; node < piece.size(); ++node) {
    if (piece[node] == kLeaf) choice[graph.node_class[node]] = node;
  }
  for (const auto& [of, number] : makers) {
    const NodeIndex made = node_of[number];
    const ClassIndex own = graph.node_class[made];
    choice[own] = made;
    if (!pieces.all[number].is_joint()) continue;
    const ClassIndex stored = class_of(of, pieces.all[number].writes);
    for (NodeIndex node = graph.class_begin[stored]; node < graph.class_begin[stored + 1]; ++node) {
      if (piece[node] == kSlice && graph.children_of(node)[0] == own) choice[stored] = node;
    }
  }
  const std::vector<NodeIndex> made = choice;
  for (NodeIndex node = 0; node < piece.size(); ++node) {
    const ClassIndex c = graph.node_class[node];
    if (piece[node] == kCopied && choice[c] == kNoNode &&
        made[graph.children_of(node)[0]] != kNoNode)
      choice[c] = node;
  }
  return choice;
}

std::vector<KernelGraph::Maker> KernelGraph::makers_in(std::span<const NodeIndex> choice) const {
  std::vector<Maker> makers;
  for (ClassIndex c = 0; c < choice.size(); ++c) {
    const NodeIndex node = choice[c];
    if (value[c] == kNoValue || node == kNoNode || piece[node] == kLeaf || piece[node] == kCopied)
      continue;
    const bool is_slice = piece[node] == kSlice;
    const std::uint32_t number =
        piece[is_slice ? graph.class_begin[graph.children_of(node)[0]] : node];
    makers.push_back({value[c], number});
  }
  return makers;
}

}  // namespace egret::extract

// SPDX-License-Identifier: Apache-2.0
#include "extract/kernels/kernel_graph.h"

#include <algorithm>

namespace egret::extract {

KernelGraph kernel_graph(const EGraphView& graph, const std::vector<bool>& leaves,
                         const Pieces& pieces) {
  KernelGraph kernels;
  EGraphView& view = kernels.graph;
  view.roots = graph.roots;
  view.class_id = graph.class_id;
  kernels.node_of.assign(pieces.all.size(), kNoNode);
  const auto add = [&](ClassIndex c, std::uint32_t piece, std::span<const ClassIndex> inputs) {
    if (piece < KernelGraph::kSlice)
      kernels.node_of[piece] = static_cast<NodeIndex>(view.node_op.size());
    view.node_class.push_back(c);
    view.node_op.emplace_back(0);
    view.children.insert(view.children.end(), inputs.begin(), inputs.end());
    view.child_begin.push_back(static_cast<EGraphView::Index>(view.children.size()));
    kernels.piece.push_back(piece);
  };
  const auto end_class = [&] {
    view.class_begin.push_back(static_cast<EGraphView::Index>(view.node_op.size()));
  };
  // The classes of joint pieces, and by class those that store it.
  std::vector<std::uint32_t> joint;
  std::vector<std::vector<ClassIndex>> stored_by(graph.class_count());
  for (std::size_t i = 0; i < pieces.all.size(); ++i) {
    const Piece& piece = pieces.all[i];
    if (!piece.is_joint()) continue;
    const auto own = static_cast<ClassIndex>(graph.class_count() + joint.size());
    stored_by[graph.node_class[piece.root()]].push_back(own);
    for (const NodeIndex node : piece.stored) stored_by[graph.node_class[node]].push_back(own);
    joint.push_back(static_cast<std::uint32_t>(i));
  }
  for (ClassIndex c = 0; c < graph.class_count(); ++c) {
    if (leaves[c]) add(c, KernelGraph::kLeaf, {});
    for (const std::uint32_t number : pieces.of_class[c]) add(c, number, pieces.all[number].inputs);
    for (const ClassIndex own : stored_by[c]) add(c, KernelGraph::kSlice, {&own, 1});
    end_class();
  }
  std::size_t next_id = 0;
  for (const egraph::ClassId id : graph.class_id)
    next_id = std::max<std::size_t>(next_id, id.index() + 1);
  for (std::size_t k = 0; k < joint.size(); ++k) {
    view.class_id.emplace_back(next_id + k);
    add(static_cast<ClassIndex>(graph.class_count() + k), joint[k], pieces.all[joint[k]].inputs);
    end_class();
  }
  return kernels;
}

std::vector<double> KernelGraph::costs(const std::vector<double>& prices) const {
  std::vector<double> costs;
  for (NodeIndex node = 0; node < piece.size(); ++node)
    costs.push_back(is_piece(node) ? prices[piece[node]] : 0);
  return costs;
}

std::vector<NodeIndex> KernelGraph::choice_of(const Pieces& pieces,
                                              std::span<const Maker> makers) const {
  std::vector<NodeIndex> choice(graph.class_count(), kNoNode);
  for (NodeIndex node = 0; node < piece.size(); ++node) {
    if (piece[node] == kLeaf) choice[graph.node_class[node]] = node;
  }
  for (const auto& [value, number] : makers) {
    const NodeIndex made = node_of[number];
    const ClassIndex own = graph.node_class[made];
    choice[own] = made;
    if (!pieces.all[number].is_joint()) continue;
    for (NodeIndex node = graph.class_begin[value]; node < graph.class_begin[value + 1]; ++node) {
      if (piece[node] == kSlice && graph.children_of(node)[0] == own) choice[value] = node;
    }
  }
  return choice;
}

std::vector<KernelGraph::Maker> KernelGraph::makers_in(std::span<const NodeIndex> choice) const {
  std::vector<Maker> makers;
  for (ClassIndex c = 0; c < choice.size(); ++c) {
    const NodeIndex node = choice[c];
    if (node == kNoNode || piece[node] == kLeaf) continue;
    const bool is_slice = piece[node] == kSlice;
    const std::uint32_t number =
        piece[is_slice ? graph.class_begin[graph.children_of(node)[0]] : node];
    makers.push_back({c, number});
  }
  return makers;
}

}  // namespace egret::extract

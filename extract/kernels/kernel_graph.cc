// SPDX-License-Identifier: Apache-2.0
#include "extract/kernels/kernel_graph.h"

namespace egret::extract {

KernelGraph kernel_graph(const EGraphView& graph, const std::vector<bool>& leaves,
                         const Pieces& pieces) {
  KernelGraph kernels;
  EGraphView& view = kernels.graph;
  view.roots = graph.roots;
  view.class_id = graph.class_id;
  const auto add = [&](ClassIndex c, std::uint32_t piece, std::span<const ClassIndex> inputs) {
    view.node_class.push_back(c);
    view.node_op.emplace_back(0);
    view.children.insert(view.children.end(), inputs.begin(), inputs.end());
    view.child_begin.push_back(static_cast<EGraphView::Index>(view.children.size()));
    kernels.piece.push_back(piece);
  };
  for (ClassIndex c = 0; c < graph.class_count(); ++c) {
    if (leaves[c]) add(c, KernelGraph::kLeaf, {});
    for (std::size_t i = pieces.begin[c]; i < pieces.begin[c + 1]; ++i)
      add(c, static_cast<std::uint32_t>(i), pieces.all[i].inputs);
    view.class_begin.push_back(static_cast<EGraphView::Index>(view.node_op.size()));
  }
  return kernels;
}

std::vector<double> KernelGraph::costs(const std::vector<double>& prices) const {
  std::vector<double> costs;
  for (const std::uint32_t number : piece) costs.push_back(number == kLeaf ? 0 : prices[number]);
  return costs;
}

}  // namespace egret::extract

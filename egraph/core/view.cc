// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/view.h"

#include "base/check.h"

namespace egret::egraph {

// Renumbers classes and nodes densely, in compressed sparse rows: class_begin gives the nodes of a
// class, and child_begin the children of a node. Extraction and statistics then run over plain
// arrays and do not see the union-find.
EGraphView make_view(const EGraph& egraph, std::span<const ClassId> roots) {
  EGRET_CHECK(egraph.clean(), "make_view() before rebuild()");
  EGraphView view;
  view.class_id = egraph.classes();
  std::vector<EGraphView::Index> index_of(egraph.id_count());
  for (std::size_t c = 0; c < view.class_id.size(); ++c) {
    index_of[view.class_id[c].index()] = static_cast<EGraphView::Index>(c);
  }
  const auto index = [&](ClassId id) { return index_of[egraph.find(id).index()]; };

  for (std::size_t c = 0; c < view.class_id.size(); ++c) {
    for (const NodeId node : egraph.nodes(view.class_id[c])) {
      view.node_class.push_back(static_cast<EGraphView::Index>(c));
      view.node_op.push_back(egraph.op(node));
      for (const ClassId child : egraph.children(node)) view.children.push_back(index(child));
      view.child_begin.push_back(static_cast<EGraphView::Index>(view.children.size()));
    }
    view.class_begin.push_back(static_cast<EGraphView::Index>(view.node_op.size()));
  }
  for (const ClassId root : roots) view.roots.push_back(index(root));
  return view;
}

}  // namespace egret::egraph

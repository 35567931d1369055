// SPDX-License-Identifier: Apache-2.0
// What a cost model is asked of a node of a tensor e-graph, with the storage that the question
// points into.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "cost/model.h"
#include "egraph/core/view.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

class NodeQuery {
 public:
  // The node op(children) of the class `of`. With open sizes: at those of a profile.
  NodeQuery(const rules::TensorEGraph& tensors, egraph::OpId op,
            std::span<const egraph::ClassId> children, egraph::ClassId of, std::size_t profile = 0);
  // A node of a view of the e-graph.
  NodeQuery(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
            egraph::EGraphView::Index node, std::size_t profile = 0);
  // The query holds addresses of its own members.
  NodeQuery(const NodeQuery&) = delete;
  NodeQuery& operator=(const NodeQuery&) = delete;

  // Nothing happens at run time: a leaf, or what depends on weights alone. A leaf has no query.
  bool free() const { return free_; }
  const cost::Query& query() const { return query_; }

 private:
  void set_sizes(const ir::SymbolValues& sizes);

  bool free_ = false;
  std::vector<ir::TensorType> types_;
  ir::TensorType output_;  // the two with numbers in place of open sizes
  ir::Attrs attrs_;
  std::unique_ptr<bool[]> constant_;
  cost::Query query_;
};

}  // namespace egret::driver

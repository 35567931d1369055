// SPDX-License-Identifier: Apache-2.0
// The prices of an e-graph's nodes, from a cost model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "cost/model.h"
#include "extract/core/extractor.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

// The cost of each node of a view; infinite for what the model cannot price (and so must not be
// chosen). Leaves are free.
base::Result<std::vector<double>> price_nodes(const rules::TensorEGraph& tensors,
                                              const egraph::EGraphView& view, cost::Model& model);

// Whether a rule made the node; otherwise it is the program's own.
bool made_by_rule(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                  extract::NodeIndex node);

// What the model is asked of the nodes of a choice, once for each profile of open sizes. The
// arguments outlive this.
class ChoiceQueries {
 public:
  ChoiceQueries(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                std::span<const extract::NodeIndex> choice);
  ~ChoiceQueries();
  ChoiceQueries(const ChoiceQueries&) = delete;
  ChoiceQueries& operator=(const ChoiceQueries&) = delete;
  std::span<const cost::Query> all() const { return queries_; }

 private:
  struct Storage;  // what the queries point into
  std::unique_ptr<Storage> storage_;
  std::vector<cost::Query> queries_;
};

}  // namespace egret::driver

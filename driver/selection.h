// SPDX-License-Identifier: Apache-2.0
// From a saturated e-graph to a graph: price the nodes, extract, measure what was only estimated,
// extract again (see cost/profiled.h for why), until the choice rests on what is known.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "cost/profiled.h"
#include "extract/extractor.h"
#include "rules/tensor_egraph.h"

namespace egret::driver {

// The cost of each node of a view; infinite for what the model cannot price (and so must not be
// chosen). Leaves are free.
base::Result<std::vector<double>> price_nodes(const rules::TensorEGraph& tensors,
                                              const egraph::EGraphView& view, cost::Model& model);

// The predicted time of a graph: the sum over its operators.
base::Result<double> predict(const ir::Graph& graph, cost::Model& model);

struct SelectionOptions {
  const extract::ExtractorRow* extractor = nullptr;
  extract::Options extraction{};
  double profile_seconds = 20;  // budget for measuring; only with a profiled model
  int max_rounds = 50;
};

struct SelectionResult {
  extract::Solution solution;
  std::int64_t measured = 0;   // operators measured on the way
  std::int64_t estimated = 0;  // operators of the choice that rest on estimates
  double profile_seconds = 0;
  int rounds = 0;
};

// `profiled` is null for a purely estimating model; otherwise it is `model`, and `measure` times
// one operator.
base::Result<SelectionResult> select(const rules::TensorEGraph& tensors,
                                     const egraph::EGraphView& view, cost::Model& model,
                                     cost::ProfiledModel* profiled,
                                     const cost::ProfiledModel::Measure& measure,
                                     const SelectionOptions& options, base::ProgressSink* progress);

}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
// From a saturated e-graph to a graph: price the nodes, extract, measure what was only estimated,
// extract again (see cost/profiled.h for why), until the choice rests on what is known.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/status.h"
#include "cost/database.h"
#include "cost/profiled.h"
#include "driver/measure/kernel_times.h"
#include "driver/select/node_prices.h"
#include "extract/core/extractor.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

// Measures operators for a profiled cost model, as long as there is time for it.
struct Profiler {
  cost::ProfiledModel* model = nullptr;  // null: the cost model only estimates
  cost::ProfiledModel::Measure measure;  // times one operator
  // Told of several before they are timed; may be empty.
  std::function<void(std::span<const cost::Query>)> make_ready{};
  double budget_s = 20;
  double spent_s = 0;
  std::int64_t measured = 0;
  // Operators that take more memory or time than measuring may, each with the reason: their
  // estimates stand.
  std::set<std::string> too_large{};

  bool may_measure() const;
  // False: it was known already, or is too large.
  base::Result<bool> profile(const cost::Query& query);
  // Those that are not known yet, while there is time; `each` is told of one that was measured.
  base::Status profile_all(std::span<const cost::Query> queries,
                           const std::function<void(const cost::Query&)>& each = {});
};

// Operators that the backend is told of before the first of them is measured.
inline constexpr std::size_t kMeasuredTogether = 32;

// The predicted time of an operator, measured where there is time.
base::Result<double> price_of(const cost::Query& query, cost::Model& model, Profiler& profiler);
// The predicted time of a graph: the sum over its operators that do not depend on weights alone,
// each as the model expects it (cost::Model::expected()).
struct Prediction {
  double seconds = 0;
  std::int64_t interpolated = 0;  // operators that were not measured
  std::int64_t estimated = 0;     // nor any like them
  std::vector<KernelTime> operators{};
};
base::Result<Prediction> predict(const ir::Graph& graph, cost::Model& model, Profiler& profiler);

// A factor on the price of what is wanted only where nothing else does.
inline constexpr double kTooDear = 1000;

struct SelectionOptions {
  const extract::ExtractorRow* extractor = nullptr;
  extract::Options extraction{};
  cost::Database* answers = nullptr;  // where those that took long are kept (extraction_cache.h)
  // A factor on the cost of what a rule made: above 1, the program's own operators are kept unless
  // the gain is clear; infinite, nothing else is chosen.
  double price_of_new = 1;
  std::vector<double> factors{};  // on the cost of each node; empty: none
  // Prices are wrong by up to this factor, drawn for each node from the seed: other answers that
  // are about as good.
  double spread = 1;
  // In this share of the classes, drawn from the seed as well, the program's own operators are kept
  // where there are any: answers between the program and the best.
  double kept = 0;
  std::uint64_t seed = 0;
  int max_rounds = 50;
};

struct SelectionResult {
  extract::Solution solution;  // its costs carry price_of_new and spread
  std::int64_t estimated = 0;  // operators of the choice that rest on estimates
  int rounds = 0;
};

base::Result<SelectionResult> select(const rules::TensorEGraph& tensors,
                                     const egraph::EGraphView& view, cost::Model& model,
                                     Profiler& profiler, const SelectionOptions& options,
                                     base::ProgressSink* progress);

}  // namespace egret::driver

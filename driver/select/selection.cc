// SPDX-License-Identifier: Apache-2.0
#include "driver/select/selection.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/formats/units.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/prices/graph_queries.h"
#include "driver/select/extraction_cache.h"

namespace egret::driver {
namespace {

inline constexpr base::ProgressColumn kMeasured{
    "measured", "measured", base::ProgressColumn::Unit::kCount, "operators measured in this run"};

// Per node, what its price is multiplied by.
// Factors vary the selection: a random spread for alternatives, a factor on everything that rules
// made, and with probability `kept` a large one on the new nodes of a class.
std::vector<double> price_factors(const rules::TensorEGraph& tensors,
                                  const egraph::EGraphView& view, const SelectionOptions& options) {
  std::vector<double> factor = options.factors;
  factor.resize(view.node_count(), 1);
  const auto drawn = [&](std::uint64_t of, double low, double high) {
    return base::Random(base::hash_combine(options.seed, of)).uniform(low, high);
  };
  for (extract::NodeIndex node = 0; node < view.node_count(); ++node) {
    if (options.spread != 1) factor[node] *= std::pow(options.spread, drawn(node, -1, 1));
    if (options.price_of_new == 1 && options.kept == 0) continue;
    if (!made_by_rule(tensors, view, node)) continue;
    factor[node] *= options.price_of_new;
    const std::uint64_t of_class = view.node_count() + view.node_class[node];
    if (drawn(of_class, 0, 1) < options.kept) factor[node] *= kTooDear;
  }
  return factor;
}

}  // namespace

bool Profiler::may_measure() const {
  return model != nullptr && spent_s < budget_s && !base::stop_requested();
}

// Whether the operator was measured now. One that is too large to be measured keeps its estimate,
// without an error.
base::Result<bool> Profiler::profile(const cost::Query& query) {
  const base::Stopwatch watch;
  const auto added = model->profile(query, measure);
  spent_s += watch.seconds();
  if (added.status().code() == base::StatusCode::kLimit) {
    too_large.insert(added.status().message());
    return false;
  }
  if (added.ok() && *added) ++measured;
  return added;
}

// Measures the operators without a measured cost, each once, while the budget lasts. They are
// prepared in batches, because a device's kernels compile in parallel.
base::Status Profiler::profile_all(std::span<const cost::Query> queries,
                                   const std::function<void(const cost::Query&)>& each) {
  if (model == nullptr) return base::ok();
  std::vector<cost::Query> unknown;
  std::set<std::string> seen;
  for (const cost::Query& query : queries) {
    EGRET_ASSIGN_OR_RETURN(const cost::Cost cost, model->cost(query));
    if (!cost.measured() && seen.insert(cost::key_of(query)).second) unknown.push_back(query);
  }
  for (std::size_t next = 0; next < unknown.size() && may_measure(); ++next) {
    if (make_ready && next % kMeasuredTogether == 0) {
      const base::Stopwatch watch;
      const std::size_t count = std::min(kMeasuredTogether, unknown.size() - next);
      make_ready(std::span(unknown).subspan(next, count));
      spent_s += watch.seconds();
    }
    EGRET_RETURN_IF_ERROR(profile(unknown[next]).status());
    if (each) each(unknown[next]);
  }
  return base::ok();
}

base::Result<double> price_of(const cost::Query& query, cost::Model& model, Profiler& profiler) {
  EGRET_ASSIGN_OR_RETURN(cost::Cost cost, model.cost(query));
  if (!cost.measured() && profiler.may_measure()) {
    EGRET_RETURN_IF_ERROR(profiler.profile(query).status());
    EGRET_ASSIGN_OR_RETURN(cost, model.cost(query));
  }
  return cost.seconds;
}

base::Result<Prediction> predict(const ir::Graph& graph, cost::Model& model, Profiler& profiler) {
  const GraphQueries queries(graph);
  EGRET_RETURN_IF_ERROR(profiler.profile_all(queries.all()));
  Prediction total;
  for (std::size_t i = 0; i < queries.all().size(); ++i) {
    const cost::Query& query = queries.all()[i];
    const auto cost = model.expected(query);
    if (!cost.ok()) {
      return cost.status().at(query.op->name() + " of " +
                              base::counted(std::ssize(query.inputs), "operand"));
    }
    if (cost->refused()) {  // a part of a node that the engine runs as a whole
      ++total.estimated;
      continue;
    }
    total.seconds += cost->seconds;
    total.operators.push_back({.name = query.op->name(),
                               .nodes = {backends::node_label(graph, queries.node(i))},
                               .seconds = cost->seconds});
    total.interpolated += cost->kind == cost::CostKind::kInterpolated ? 1 : 0;
    total.estimated += cost->kind == cost::CostKind::kEstimated ? 1 : 0;
  }
  return total;
}

base::Result<SelectionResult> select(const rules::TensorEGraph& tensors,
                                     const egraph::EGraphView& view, cost::Model& model,
                                     Profiler& profiler, const SelectionOptions& options,
                                     base::ProgressSink* sink) {
  const base::Progress progress(sink, "extract");
  const std::vector<double> factor = price_factors(tensors, view, options);
  const auto prices = [&]() -> base::Result<std::vector<double>> {
    EGRET_ASSIGN_OR_RETURN(std::vector<double> costs, price_nodes(tensors, view, model));
    for (std::size_t node = 0; node < costs.size(); ++node) {
      // What costs nothing stays free, unless it is forbidden.
      if (std::isinf(factor[node])) {
        costs[node] = factor[node];
      } else {
        costs[node] *= factor[node];
      }
    }
    return costs;
  };

  EGRET_ASSIGN_OR_RETURN(std::vector<double> costs, prices());
  SelectionResult result;
  // Extract, measure the operators chosen, and extract again with the new prices. An unmeasured
  // operator is chosen only with its estimate, so the choice becomes stable when all chosen
  // operators are measured. Each round measures at least one more operator, or the loop ends.
  //
  // While prices are still estimates, a choice near the best one suffices; the last one takes the
  // time that it is given.
  constexpr double kDraftSeconds = 0.25;
  bool is_draft = true;
  while (true) {
    extract::Options extraction = options.extraction;
    if (is_draft) extraction.time_limit_s = std::min(extraction.time_limit_s, kDraftSeconds);
    EGRET_ASSIGN_OR_RETURN(result.solution, extract_or_recall(*options.extractor, {view, costs},
                                                              extraction, options.answers));
    ++result.rounds;
    progress.report({{base::kIteration, result.rounds},
                     {base::kBestCost, result.solution.dag_cost},
                     {kMeasured, profiler.measured}});

    const ChoiceQueries chosen(tensors, view, result.solution.choice);
    const std::int64_t before = profiler.measured;
    if (result.rounds < options.max_rounds) {
      EGRET_RETURN_IF_ERROR(profiler.profile_all(chosen.all(), [&](const cost::Query& query) {
        if (!progress.due()) return;
        progress.report({{base::kIteration, result.rounds}, {kMeasured, profiler.measured}},
                        std::min(1.0, profiler.spent_s / profiler.budget_s), query.op->name());
      }));
    }
    result.estimated = 0;
    for (const cost::Query& query : chosen.all()) {
      EGRET_ASSIGN_OR_RETURN(const cost::Cost cost, model.cost(query));
      result.estimated += cost.measured() ? 0 : 1;
    }
    if (profiler.measured == before) {
      if (!is_draft || result.solution.quality == extract::Quality::kOptimal) break;
      is_draft = false;
      continue;
    }
    EGRET_ASSIGN_OR_RETURN(costs, prices());
  }
  EGRET_RETURN_IF_ERROR(extract::check_solution({view, costs}, result.solution));
  return result;
}

}  // namespace egret::driver

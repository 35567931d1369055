// SPDX-License-Identifier: Apache-2.0
#include "driver/select/selection.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/formats/units.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/select/extraction_cache.h"
#include "driver/select/kernel_pieces.h"
#include "driver/select/node_query.h"
#include "ir/analysis/elementwise.h"
#include "ir/graph/body.h"

namespace egret::driver {
namespace {

inline constexpr base::ProgressColumn kMeasured{
    "measured", "measured", base::ProgressColumn::Unit::kCount, "operators measured in this run"};

// A graph's operators that do not depend on weights alone.
class GraphQueries {
 public:
  // `weights`: by input, whether it depends on weights alone; empty: none.
  explicit GraphQueries(const ir::Graph& graph, const std::vector<bool>& weights = {});
  std::span<const cost::Query> all() const { return queries_; }
  ir::NodeId node(std::size_t query) const { return nodes_[query]; }

 private:
  struct Storage {
    std::vector<ir::TensorType> types;
    std::unique_ptr<bool[]> constant;
  };
  std::deque<Storage> storage_;  // what the queries point into
  std::vector<cost::Query> queries_;
  std::vector<ir::NodeId> nodes_;  // of the queries
};

GraphQueries::GraphQueries(const ir::Graph& graph, const std::vector<bool>& weights) {
  std::vector<char> constant(graph.size(), 0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    constant[graph.inputs()[i].index()] = weights[i] ? 1 : 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.kind == ir::NodeKind::kConstant) constant[i] = 1;
    if (node.kind != ir::NodeKind::kOperator) continue;
    Storage& own = storage_.emplace_back();
    own.constant = std::make_unique<bool[]>(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      own.types.push_back(graph.node(node.inputs[k]).type);
      own.constant[k] = constant[node.inputs[k].index()] != 0;
    }
    const cost::Query query{.op = node.op,
                            .attrs = &node.attrs,
                            .inputs = own.types,
                            .constant = {own.constant.get(), node.inputs.size()},
                            .output = &node.type};
    constant[i] = node.inputs.empty() || query.all_constant() ? 1 : 0;
    if (constant[i] != 0) continue;
    queries_.push_back(query);
    nodes_.emplace_back(i);
  }
}

struct Prices {
  double sum = 0;
  double dearest = 0;
};

// Infinite if one of the operators has no price.
Prices prices_of(std::span<const cost::Query> queries, cost::Model& model) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Prices prices;
  for (const cost::Query& query : queries) {
    const auto cost = model.cost(query);
    if (!cost.ok()) return {kNone, kNone};
    prices.sum += cost->seconds;
    prices.dearest = std::max(prices.dearest, cost->seconds);
  }
  return prices;
}

// A node that computes what several operators do is a little cheaper than these: among equally fast
// graphs the one with fewer, larger nodes is chosen, which engines have kernels for.
constexpr double kWhole = 0.999;
constexpr double kLeastOfWhole = 1e-9;  // seconds; where the backend pays nothing
constexpr double kLeast = 2e-9;

// Whether the operator is elementwise; remembered, because that takes up to 200 us.
bool is_one_pass(const cost::Query& query) {
  thread_local std::map<std::string, bool> known;
  std::string key = query.op->name() + to_string(*query.attrs);
  std::vector<ir::DType> dtypes;
  for (const ir::TensorType& type : query.inputs) {
    dtypes.push_back(type.dtype);
    key += to_string(type.dtype);
  }
  const auto [found, is_new] = known.try_emplace(std::move(key));
  if (is_new) found->second = ir::is_elementwise(*query.op, *query.attrs, dtypes);
  return found->second;
}

// A composite costs at most what its body does, because a backend without a kernel for it runs
// that. An elementwise one is fused into one pass, as costly as its dearest operator.
double price_of_composite(const cost::Query& query, double price, cost::Model& model) {
  const std::vector<ir::TensorType> types(query.inputs.begin(), query.inputs.end());
  const auto body = ir::body_graph(*query.op, *query.attrs, types);
  if (!body.ok()) return price;
  const GraphQueries queries(*body, {query.constant.begin(), query.constant.end()});
  const Prices prices = prices_of(queries.all(), model);
  const bool one_pass = is_one_pass(query);
  return std::min(price, kWhole * (one_pass ? prices.dearest : prices.sum));
}

// The operators of an opaque node that has a body, at a profile of open sizes.
class BodyQueries {
 public:
  BodyQueries(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
              extract::NodeIndex node, std::size_t profile) {
    const ir::Graph* const body = tensors.body(view.node_op[node]);
    if (body == nullptr) return;
    if (tensors.open_sizes() != nullptr) {
      auto bound = rules::at_sizes(*body, tensors.open_sizes()->profiles()[profile].sizes);
      if (!bound.ok()) return;  // the program does not accept these sizes
      graph_ = *std::move(bound);
    } else {
      graph_ = *body;
    }
    std::vector<bool> weights;
    for (const extract::ClassIndex child : view.children_of(node))
      weights.push_back(tensors.is_constant(view.class_id[child]));
    queries_.emplace(graph_, weights);
  }
  BodyQueries(const BodyQueries&) = delete;  // the queries point into the graph
  BodyQueries& operator=(const BodyQueries&) = delete;

  bool empty() const { return !queries_; }
  std::span<const cost::Query> all() const { return queries_->all(); }

  // A node is priced as its dearest operator, into which the others are taken to be fused.
  double price(cost::Model& model) const { return kWhole * prices_of(all(), model).dearest; }

 private:
  ir::Graph graph_;
  std::optional<GraphQueries> queries_;
};

// Sizes have one profile where they are known.
std::vector<double> weights_of(const rules::TensorEGraph& tensors) {
  std::vector<double> weights;
  if (tensors.open_sizes() == nullptr) return {1};
  for (const rules::SizeProfile& one : tensors.open_sizes()->profiles())
    weights.push_back(one.weight);
  return weights;
}

double price_at(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                extract::NodeIndex node, std::size_t profile, cost::Model& model) {
  const NodeQuery query(tensors, view, node, profile);
  if (query.free()) {
    const BodyQueries body(tensors, view, node, profile);
    return body.empty() ? 0 : std::max(body.price(model), kLeastOfWhole);
  }
  const auto cost = model.cost(query.query());
  const double price = cost.ok() ? cost->seconds : std::numeric_limits<double>::infinity();
  const bool composite = query.query().op->is_composite();
  return std::max(composite ? price_of_composite(query.query(), price, model) : price, kLeast);
}

// What a written model spends to compute the open sizes of a reshape or broadcast: some nodes for
// each size that is neither that of the operand's axis nor inferred.
double price_of_sizes(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                      extract::NodeIndex node) {
  constexpr double kComputed = 3e-6;  // seconds; about four small nodes
  const rules::TensorLanguage& language = tensors.language();
  const egraph::OpId op = view.node_op[node];
  if (tensors.open_sizes() == nullptr || language.kind(op) != ir::NodeKind::kOperator) return 0;
  const bool reshapes = language.op(op).name() == "reshape";
  if (!reshapes && language.op(op).name() != "broadcast") return 0;
  const ir::Dims& made = tensors.type(view.class_id[view.node_class[node]]).dims;
  const ir::Dims& given = tensors.type(view.class_id[view.children_of(node)[0]]).dims;
  int computed = 0;
  for (std::size_t axis = 0; axis < made.size(); ++axis) {
    const bool copied = axis < given.size() && made[axis].same(given[axis]);
    computed += made[axis].is_constant() || copied ? 0 : 1;
  }
  if (reshapes && computed > 0) --computed;  // -1
  return kComputed * computed;
}

// The weighted sum over the profiles.
double price(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
             extract::NodeIndex node, std::span<const double> weights, cost::Model& model) {
  double sum = price_of_sizes(tensors, view, node);
  for (std::size_t profile = 0; profile < weights.size(); ++profile)
    sum += weights[profile] * price_at(tensors, view, node, profile, model);
  return sum;
}

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

bool made_by_rule(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                  extract::NodeIndex node) {
  return tensors.creator(node_in(tensors, view, node)) != rules::TensorEGraph::kProgram;
}

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

base::Result<std::vector<double>> price_nodes(const rules::TensorEGraph& tensors,
                                              const egraph::EGraphView& view, cost::Model& model) {
  const std::vector<double> weights = weights_of(tensors);
  std::vector<double> costs(view.node_count());
  for (extract::NodeIndex node = 0; node < view.node_count(); ++node)
    costs[node] = price(tensors, view, node, weights, model);
  return costs;
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
  const std::size_t profiles = weights_of(tensors).size();
  SelectionResult result;
  // Extract, measure the operators chosen, and extract again with the new prices. An unmeasured
  // operator is chosen only with its estimate, so the choice becomes stable when all chosen
  // operators are measured. Each round measures at least one more operator, or the loop ends.
  while (true) {
    EGRET_ASSIGN_OR_RETURN(result.solution, extract_or_recall(*options.extractor, {view, costs},
                                                              options.extraction, options.answers));
    ++result.rounds;
    progress.report({{base::kIteration, result.rounds},
                     {base::kBestCost, result.solution.dag_cost},
                     {kMeasured, profiler.measured}});

    std::vector<std::unique_ptr<NodeQuery>> owners;
    std::deque<BodyQueries> bodies;
    std::vector<cost::Query> chosen;
    for (std::size_t profile = 0; profile < profiles; ++profile) {
      for (const extract::NodeIndex node : result.solution.choice) {
        if (node == extract::kNoNode) continue;
        auto query = std::make_unique<NodeQuery>(tensors, view, node, profile);
        if (query->free()) {
          const BodyQueries& body = bodies.emplace_back(tensors, view, node, profile);
          if (!body.empty()) chosen.insert(chosen.end(), body.all().begin(), body.all().end());
          continue;
        }
        chosen.push_back(query->query());
        owners.push_back(std::move(query));
      }
    }
    const std::int64_t before = profiler.measured;
    if (result.rounds < options.max_rounds) {
      EGRET_RETURN_IF_ERROR(profiler.profile_all(chosen, [&](const cost::Query& query) {
        if (!progress.due()) return;
        progress.report({{base::kIteration, result.rounds}, {kMeasured, profiler.measured}},
                        std::min(1.0, profiler.spent_s / profiler.budget_s), query.op->name());
      }));
    }
    result.estimated = 0;
    for (const cost::Query& query : chosen) {
      EGRET_ASSIGN_OR_RETURN(const cost::Cost cost, model.cost(query));
      result.estimated += cost.measured() ? 0 : 1;
    }
    if (profiler.measured == before) break;
    EGRET_ASSIGN_OR_RETURN(costs, prices());
  }
  EGRET_RETURN_IF_ERROR(extract::check_solution({view, costs}, result.solution));
  return result;
}

}  // namespace egret::driver

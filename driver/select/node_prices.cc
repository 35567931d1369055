// SPDX-License-Identifier: Apache-2.0
#include "driver/select/node_prices.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "driver/prices/graph_queries.h"
#include "driver/prices/node_query.h"
#include "driver/select/kernel_pieces.h"
#include "ir/analysis/elementwise.h"
#include "ir/graph/body.h"

namespace egret::driver {
namespace {

struct Prices {
  double sum = 0;
  double dearest = 0;
  bool measured = true;  // all of them
};

// Infinite if one of the operators has no price.
Prices prices_of(std::span<const cost::Query> queries, cost::Model& model) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Prices prices;
  for (const cost::Query& query : queries) {
    const auto cost = model.cost(query);
    if (!cost.ok()) return {kNone, kNone};
    prices.measured = prices.measured && cost->measured();
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
// that. An elementwise one is fused into one pass, as costly as its dearest operator. A measured
// price yields to measured ones alone: estimates are below measured times.
double price_of_composite(const cost::Query& query, double price, bool measured,
                          cost::Model& model) {
  const std::vector<ir::TensorType> types(query.inputs.begin(), query.inputs.end());
  const auto body = ir::body_graph(*query.op, *query.attrs, types);
  if (!body.ok()) return price;
  const GraphQueries queries(*body, {query.constant.begin(), query.constant.end()});
  const Prices prices = prices_of(queries.all(), model);
  if (measured && !prices.measured) return price;
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

  // A node is priced as its dearest operator, into which the others are taken to be fused. An
  // engine may have a kernel for the node, and none for one of its operators.
  double price(cost::Model& model) const {
    double dearest = 0;
    for (const cost::Query& query : all()) {
      const auto cost = model.cost(query);
      if (!cost.ok()) return std::numeric_limits<double>::infinity();
      if (!cost->refused()) dearest = std::max(dearest, cost->seconds);
    }
    return kWhole * dearest;
  }

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
  double price = cost.ok() ? cost->seconds : std::numeric_limits<double>::infinity();
  if (query.query().op->is_composite())
    price = price_of_composite(query.query(), price, cost.ok() && cost->measured(), model);
  return std::max(price, kLeast);
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

}  // namespace

struct ChoiceQueries::Storage {
  std::vector<std::unique_ptr<NodeQuery>> nodes;
  std::deque<BodyQueries> bodies;
};

ChoiceQueries::ChoiceQueries(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                             std::span<const extract::NodeIndex> choice)
    : storage_(std::make_unique<Storage>()) {
  const std::size_t profiles = weights_of(tensors).size();
  for (std::size_t profile = 0; profile < profiles; ++profile) {
    for (const extract::NodeIndex node : choice) {
      if (node == extract::kNoNode) continue;
      auto query = std::make_unique<NodeQuery>(tensors, view, node, profile);
      if (query->free()) {
        const BodyQueries& body = storage_->bodies.emplace_back(tensors, view, node, profile);
        if (!body.empty()) queries_.insert(queries_.end(), body.all().begin(), body.all().end());
        continue;
      }
      queries_.push_back(query->query());
      storage_->nodes.push_back(std::move(query));
    }
  }
}

ChoiceQueries::~ChoiceQueries() = default;

bool made_by_rule(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                  extract::NodeIndex node) {
  return tensors.creator(node_in(tensors, view, node)) != rules::TensorEGraph::kProgram;
}

base::Result<std::vector<double>> price_nodes(const rules::TensorEGraph& tensors,
                                              const egraph::EGraphView& view, cost::Model& model) {
  const std::vector<double> weights = weights_of(tensors);
  std::vector<double> costs(view.node_count());
  for (extract::NodeIndex node = 0; node < view.node_count(); ++node)
    costs[node] = price(tensors, view, node, weights, model);
  return costs;
}

}  // namespace egret::driver

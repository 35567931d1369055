// SPDX-License-Identifier: Apache-2.0
#include "driver/selection.h"

#include <algorithm>
#include <limits>

#include "base/stop.h"
#include "base/timer.h"

namespace egret::driver {
namespace {

inline constexpr base::ProgressColumn kMeasured{
    "measured", "measured", base::ProgressColumn::Unit::kCount, "operators measured in this run"};

// The query of one view node, with the storage that it points into. Not copyable: the query holds
// addresses of its own members.
class NodeQuery {
 public:
  NodeQuery(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
            extract::NodeIndex node) {
    const rules::TensorLanguage& language = tensors.language();
    const egraph::OpId op = view.node_op[node];
    leaf_ = language.kind(op) != ir::NodeKind::kOperator;
    if (leaf_) return;
    const auto children = view.children_of(node);
    constant_ = std::make_unique<bool[]>(children.size());
    for (std::size_t i = 0; i < children.size(); ++i) {
      const rules::TensorFacts& facts = tensors.facts(view.class_id[children[i]]);
      types_.push_back(facts.type);
      constant_[i] = facts.constant;
    }
    query_.op = &language.op(op);
    query_.attrs = &language.attrs(op);
    query_.inputs = types_;
    query_.constant = {constant_.get(), children.size()};
    query_.output = &tensors.type(view.class_id[view.node_class[node]]);
  }
  NodeQuery(const NodeQuery&) = delete;
  NodeQuery& operator=(const NodeQuery&) = delete;

  bool leaf() const { return leaf_; }
  // Nothing happens at run time: a leaf, or what depends on weights alone.
  bool free(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
            extract::NodeIndex node) const {
    return leaf_ || tensors.is_constant(view.class_id[view.node_class[node]]);
  }
  const cost::Query& query() const { return query_; }

 private:
  bool leaf_ = false;
  std::vector<ir::TensorType> types_;
  std::unique_ptr<bool[]> constant_;
  cost::Query query_;
};

double price(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
             extract::NodeIndex node, cost::Model& model) {
  const NodeQuery query(tensors, view, node);
  if (query.free(tensors, view, node)) return 0;
  const auto cost = model.cost(query.query());
  return cost.ok() ? cost->seconds : std::numeric_limits<double>::infinity();
}

}  // namespace

base::Result<std::vector<double>> price_nodes(const rules::TensorEGraph& tensors,
                                              const egraph::EGraphView& view, cost::Model& model) {
  std::vector<double> costs(view.node_count());
  for (extract::NodeIndex node = 0; node < view.node_count(); ++node) {
    costs[node] = price(tensors, view, node, model);
  }
  return costs;
}

base::Result<double> predict(const ir::Graph& graph, cost::Model& model) {
  std::vector<char> constant(graph.size(), 0);
  double total = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.kind != ir::NodeKind::kOperator) {
      constant[i] = node.kind == ir::NodeKind::kConstant ? 1 : 0;
      continue;
    }
    std::vector<ir::TensorType> types;
    const auto flags = std::make_unique<bool[]>(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      types.push_back(graph.node(node.inputs[k]).type);
      flags[k] = constant[node.inputs[k].index()] != 0;
    }
    const cost::Query query{.op = node.op,
                            .attrs = &node.attrs,
                            .inputs = types,
                            .constant = {flags.get(), node.inputs.size()},
                            .output = &node.type};
    constant[i] = node.inputs.empty() || query.all_constant() ? 1 : 0;
    if (constant[i] != 0) continue;
    EGRET_ASSIGN_OR_RETURN(const cost::Cost cost, model.cost(query));
    total += cost.seconds;
  }
  return total;
}

base::Result<SelectionResult> select(const rules::TensorEGraph& tensors,
                                     const egraph::EGraphView& view, cost::Model& model,
                                     cost::ProfiledModel* profiled,
                                     const cost::ProfiledModel::Measure& measure,
                                     const SelectionOptions& options, base::ProgressSink* sink) {
  const base::Progress progress(sink, "extract");
  EGRET_ASSIGN_OR_RETURN(std::vector<double> costs, price_nodes(tensors, view, model));
  SelectionResult result;
  double spent = 0;
  while (true) {
    EGRET_ASSIGN_OR_RETURN(result.solution,
                           options.extractor->extract({view, costs}, options.extraction));
    ++result.rounds;
    progress.report({{base::kIteration, result.rounds},
                     {base::kBestCost, result.solution.dag_cost},
                     {kMeasured, result.measured}});

    result.estimated = 0;
    bool learned = false;
    const bool may_measure = profiled != nullptr && result.rounds < options.max_rounds;
    for (const extract::NodeIndex node : result.solution.choice) {
      if (node == extract::kNoNode) continue;
      const NodeQuery query(tensors, view, node);
      if (query.free(tensors, view, node)) continue;
      EGRET_ASSIGN_OR_RETURN(const cost::Cost cost, model.cost(query.query()));
      if (cost.measured) continue;
      ++result.estimated;
      if (!may_measure || spent >= options.profile_seconds || base::stop_requested()) continue;
      const base::Stopwatch watch;
      EGRET_ASSIGN_OR_RETURN(const bool added, profiled->profile(query.query(), measure));
      spent += watch.seconds();
      result.measured += added ? 1 : 0;
      --result.estimated;
      learned = true;
      if (progress.due()) {
        progress.report({{base::kIteration, result.rounds}, {kMeasured, result.measured}},
                        std::min(1.0, spent / options.profile_seconds), query.query().op->name());
      }
    }
    if (!learned) break;
    EGRET_ASSIGN_OR_RETURN(costs, price_nodes(tensors, view, model));
  }
  result.profile_seconds = spent;
  EGRET_RETURN_IF_ERROR(extract::check_solution({view, costs}, result.solution));
  return result;
}

}  // namespace egret::driver

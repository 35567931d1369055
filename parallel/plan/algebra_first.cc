// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/algebra_first.h"

#include <memory>

namespace egret::parallel {
namespace {

base::Result<double> price(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                           egraph::EGraphView::Index node, cost::Model& model) {
  const egraph::OpId op = view.node_op[node];
  const rules::TensorLanguage& language = tensors.language();
  if (language.kind(op) != ir::NodeKind::kOperator) return 0.0;
  const auto children = view.children_of(node);
  std::vector<ir::TensorType> types;
  const auto constant = std::make_unique<bool[]>(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    types.push_back(tensors.type(view.class_id[children[i]]));
    constant[i] = tensors.is_constant(view.class_id[children[i]]);
  }
  EGRET_ASSIGN_OR_RETURN(
      const cost::Cost cost,
      model.cost({.op = &language.op(op),
                  .attrs = &language.attrs(op),
                  .inputs = types,
                  .constant = {constant.get(), children.size()},
                  .output = &tensors.type(view.class_id[view.node_class[node]])}));
  return cost.seconds;
}

}  // namespace

// The baseline that rewrites before it distributes. A rewrite that only pays on several devices is
// lost here.
base::Result<ir::Graph> cheapest_on_one_device(const rules::TensorEGraph& tensors,
                                               cost::Model& model,
                                               const extract::ExtractorRow& extractor,
                                               const extract::Options& options) {
  const egraph::EGraphView view = egraph::make_view(tensors.egraph(), tensors.roots());
  std::vector<double> costs;
  for (egraph::EGraphView::Index node = 0; node < view.node_count(); ++node) {
    EGRET_ASSIGN_OR_RETURN(const double cost, price(tensors, view, node, model));
    costs.push_back(cost);
  }
  EGRET_ASSIGN_OR_RETURN(const extract::Solution best, extractor.extract({view, costs}, options));
  return tensors.to_graph(tensors.from_view(view, best.choice));
}

}  // namespace egret::parallel

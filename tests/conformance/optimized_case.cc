// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/optimized_case.h"

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "cost/model.h"
#include "driver/select/selection.h"
#include "extract/core/extractor.h"
#include "rules/tensors/admitted_rules.h"
#include "rules/tensors/constant_folding.h"
#include "rules/tensors/saturate.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::conformance {
namespace {

using base::Result;

constexpr std::uint64_t kIterations = 4;
constexpr std::uint64_t kNodes = 2000;
constexpr int kDraws = 2;

const Result<rules::AdmittedRules>& starter_rules() {
  static const auto rules = rules::AdmittedRules::select("starter");
  return rules;
}

// Every price that is finite is drawn anew; leaves, and what depends on weights alone, stay free.
void draw_prices(std::vector<double>& costs, int seed) {
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  for (double& cost : costs) {
    const auto price = static_cast<double>(1 + random() % 1000);
    if (std::isfinite(cost) && cost > 0) cost = price;
  }
}

Result<ir::Graph> extracted(const rules::TensorEGraph& tensors, const egraph::EGraphView& view,
                            const std::vector<double>& costs, const char* extractor) {
  const extract::Problem problem{view, costs};
  EGRET_ASSIGN_OR_RETURN(const auto solution,
                         extract::find_extractor(extractor)->extract(problem, {}));
  EGRET_RETURN_IF_ERROR(extract::check_solution(problem, solution));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph graph,
                         tensors.to_graph(tensors.from_view(view, solution.choice)));
  return rules::fold_constants(graph);
}

}  // namespace

Result<ir::Graph> bound_to(const ir::Graph& graph, std::span<const ir::Tensor> inputs) {
  std::map<std::string, std::int64_t> sizes;
  for (std::size_t i = 0; i < graph.inputs().size() && i < inputs.size(); ++i) {
    const ir::TensorType& type = graph.node(graph.inputs()[i]).type;
    if (type.dims.size() != inputs[i].shape().size()) continue;
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
      const ir::Index& dim = type.dims[axis];
      if (dim.is_constant() || dim.node()->op != ir::ExprOp::kSymbol) continue;
      sizes.emplace(dim.node()->name, inputs[i].shape()[axis]);
    }
  }
  if (sizes.empty()) return graph;
  return ir::bind_symbols(graph, sizes);
}

ir::Graph with_weights(const ir::Graph& graph, std::span<const ir::Tensor> inputs,
                       std::size_t kept) {
  ir::Graph result;
  result.copy_header(graph);
  std::size_t position = 0;
  for (ir::Node node : graph.nodes()) {
    if (node.kind == ir::NodeKind::kInput && position++ >= kept) {
      node.kind = ir::NodeKind::kConstant;
      node.data = inputs[position - 1];
    }
    result.append(std::move(node));
  }
  for (const auto& output : graph.outputs()) result.add_output(output.name, output.node);
  return result;
}

Result<std::vector<Optimized>> optimized(const ir::Graph& graph) {
  if (!starter_rules().ok()) return starter_rules().status();
  EGRET_ASSIGN_OR_RETURN(const auto tensors, rules::TensorEGraph::from_graph(graph));
  rules::SaturateOptions saturation;
  saturation.limits.iterations = kIterations;
  saturation.limits.nodes = kNodes;
  const auto compiled = rules::compile(*starter_rules(), *tensors);
  const auto saturated = rules::saturate(*tensors, compiled, saturation);
  if (saturated.run.stop == egraph::StopReason::kConflict)
    return base::internal_error("rules contradict each other: " + saturated.run.conflict.message());

  const std::vector<egraph::ClassId> roots = tensors->roots();
  const egraph::EGraphView view = egraph::make_view(tensors->egraph(), roots);
  const auto model = cost::make_model("nodes", {});
  EGRET_ASSIGN_OR_RETURN(auto costs, driver::price_nodes(*tensors, view, *model));
  std::vector<Optimized> results;
  for (int draw = 0; draw <= kDraws; ++draw) {
    if (draw > 0) draw_prices(costs, draw);
    for (const char* extractor : {"tree-greedy", "dag-greedy"}) {
      const std::string name =
          std::string(extractor) + (draw == 0 ? " nodes" : " draw " + std::to_string(draw));
      EGRET_ASSIGN_OR_RETURN(auto chosen, extracted(*tensors, view, costs, extractor));
      results.push_back({name, std::move(chosen)});
    }
  }
  return results;
}

}  // namespace egret::conformance

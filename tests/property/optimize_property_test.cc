// SPDX-License-Identifier: Apache-2.0
// Random graphs through import -> e-graph -> saturate -> extract -> fold -> export keep their
// outputs. EGRET_PROPERTY_CASES and EGRET_PROPERTY_SEED widen the campaign.
#include <gtest/gtest.h>

#include "cost/model.h"
#include "driver/measure/output_check.h"
#include "driver/select/selection.h"
#include "extract/core/extractor.h"
#include "frontends/onnx.h"
#include "ir/evaluate/interpreter.h"
#include "rules/tensors/compile.h"
#include "rules/tensors/constant_folding.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/saturate.h"
#include "rules/tensors/tensor_egraph.h"
#include "tests/property/campaign.h"
#include "tests/property/random_graph.h"

namespace egret {
namespace {

base::Result<ir::Graph> round_trip(const ir::Graph& graph) {
  EGRET_ASSIGN_OR_RETURN(const auto exported, frontends::export_onnx(graph, {}, {}));
  EGRET_ASSIGN_OR_RETURN(
      auto imported, frontends::import_onnx_bytes(std::as_bytes(std::span(exported.bytes)), ""));
  return std::move(imported.graph);
}

// Extracts under random costs, so that also what no sane cost model picks is checked.
base::Result<ir::Graph> rewritten(const ir::Graph& graph, const rules::RuleSet& rules,
                                  base::Random& random) {
  EGRET_ASSIGN_OR_RETURN(const auto tensors, rules::TensorEGraph::from_graph(graph));
  rules::SaturateOptions options;
  options.limits.nodes = 2000;
  options.limits.iterations = 6;
  const rules::SaturateReport report =
      rules::saturate(*tensors, rules::compile(rules, *tensors), options);
  if (report.run.stop == egraph::StopReason::kConflict) return report.run.conflict;
  const std::vector<egraph::ClassId> roots = tensors->roots();
  const egraph::EGraphView view = egraph::make_view(tensors->egraph(), roots);
  std::vector<double> costs;
  for (std::size_t i = 0; i < view.node_count(); ++i) costs.push_back(random.uniform(0.1, 10));
  EGRET_ASSIGN_OR_RETURN(const auto solution,
                         extract::find_extractor("dag-greedy")->extract({view, costs}, {}));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph chosen,
                         tensors->to_graph(tensors->from_view(view, solution.choice)));
  return rules::fold_constants(chosen);
}

TEST(OptimizeProperty, RandomGraphsKeepTheirOutputs) {
  const testing_support::Campaign campaign;
  const auto rules = rules::select_rules("starter");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  std::int64_t changed = 0;
  for (std::int64_t i = 0; i < campaign.cases; ++i) {
    SCOPED_TRACE(campaign.place(i));
    base::Random random = base::Random(campaign.seed).split(static_cast<std::uint64_t>(i));
    const ir::Graph original = testing_support::random_graph(random);
    const auto imported = round_trip(original);
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    const auto optimized = rewritten(*imported, *rules, random);
    ASSERT_TRUE(optimized.ok()) << optimized.status().message();
    const base::Status valid = optimized->check_invariants();
    ASSERT_TRUE(valid.ok()) << valid.message();
    const auto final = round_trip(*optimized);
    ASSERT_TRUE(final.ok()) << final.status().message();
    changed += optimized->operator_count() != original.operator_count() ? 1 : 0;

    const auto expected = driver::OutputCheck::of(original, {});
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    const auto report = expected->check([&](std::span<const ir::Tensor> inputs) {
      return ir::interpret(*final, inputs, {.precision = ir::Precision::kF32});
    });
    ASSERT_TRUE(report.ok()) << report.status().message();
    ASSERT_TRUE(report->passed) << "error " << report->max_error << ", bound " << report->bound;
  }
  EXPECT_GT(changed, campaign.cases / 4)
      << "most graphs came out as they went in: the rules did not run";
}

}  // namespace
}  // namespace egret

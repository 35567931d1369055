// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/model_comparison.h"

#include <span>
#include <string>

namespace egret::driver {

const base::OptionTable<ComparisonOptions>& ComparisonOptions::table() {
  using C = ComparisonOptions;
  static const base::OptionTable<C> rows{
      "compare",
      {{"samples", &C::samples, "Sets of random inputs", base::range(1, 1000)},
       {"explain-diff", &C::explain_diff,
        "If outputs differ, find the first value that differs: of those that have the same name in "
        "both models"}}};
  return rows;
}

base::Status same_interface(const ir::Graph& a, const ir::Graph& b) {
  const auto types = [](const ir::Graph& graph) {
    std::string text;
    for (const ir::NodeId id : graph.inputs()) text += ir::to_string(graph.node(id).type) + " ";
    text += "->";
    for (const auto& output : graph.outputs())
      text += " " + ir::to_string(graph.node(output.node).type);
    return text;
  };
  if (types(a) == types(b)) return base::ok();
  return base::mismatch("the models have different inputs or outputs: " + types(a) + " and " +
                        types(b));
}

base::Result<CheckReport> compare_models(const ir::Graph& a, const ir::Graph& b,
                                         backends::ExecutablePlan& plan,
                                         const CheckOptions& options) {
  EGRET_RETURN_IF_ERROR(same_interface(a, b));
  return OutputCheck::compare(a, options,
                              [&](std::span<const ir::Tensor> inputs) { return plan.run(inputs); });
}

}  // namespace egret::driver

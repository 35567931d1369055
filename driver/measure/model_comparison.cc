// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/model_comparison.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

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

namespace {

using Names = std::vector<std::string>;

Names input_names(const ir::Graph& graph) {
  Names names;
  for (const ir::NodeId id : graph.inputs()) names.push_back(graph.node(id).name);
  return names;
}

Names output_names(const ir::Graph& graph) {
  Names names;
  for (const auto& output : graph.outputs()) names.push_back(output.name);
  return names;
}

// Programs that use models find values by name, so the same names in another order are other
// values. Other names say nothing: tools rename values.
base::Status same_order(const std::string& what, const Names& a, const Names& b) {
  if (a == b || !std::ranges::is_permutation(a, b)) return base::ok();
  const auto [first, second] = std::ranges::mismatch(a, b);
  return base::mismatch("the models have the same " + what + " in another order: '" + *first +
                        "' of the first one stands where the second one has '" + *second + "'");
}

}  // namespace

base::Status same_interface(const ir::Graph& a, const ir::Graph& b) {
  const auto types = [](const ir::Graph& graph) {
    std::string text;
    for (const ir::NodeId id : graph.inputs()) text += ir::to_string(graph.node(id).type) + " ";
    text += "->";
    for (const auto& output : graph.outputs())
      text += " " + ir::to_string(graph.node(output.node).type);
    return text;
  };
  if (types(a) != types(b)) {
    return base::mismatch("the models have different inputs or outputs: " + types(a) + " and " +
                          types(b));
  }
  EGRET_RETURN_IF_ERROR(same_order("inputs", input_names(a), input_names(b)));
  return same_order("outputs", output_names(a), output_names(b));
}

base::Result<CheckReport> compare_models(const ir::Graph& a, const ir::Graph& b,
                                         backends::ExecutablePlan& plan,
                                         const CheckOptions& options) {
  EGRET_RETURN_IF_ERROR(same_interface(a, b));
  return OutputCheck::compare(a, options,
                              [&](std::span<const ir::Tensor> inputs) { return plan.run(inputs); });
}

}  // namespace egret::driver

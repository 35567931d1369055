// SPDX-License-Identifier: Apache-2.0
#include "driver/explain_difference.h"

#include <string>
#include <vector>

#include "frontends/observed_model.h"

namespace egret::driver {
namespace {

base::Result<frontends::ObservedModel> observed_model(const ModelSource& source) {
  EGRET_ASSIGN_OR_RETURN(frontends::ObservedModel model,
                         source.bytes ? frontends::ObservedModel::read_bytes(*source.bytes)
                                      : frontends::ObservedModel::read(source.path));
  if (model.has_external_data()) {
    return base::unsupported(source.path +
                             ": inner values of a model with external data cannot be compared in "
                             "an engine");
  }
  return model;
}

base::Result<std::optional<FirstDifference>> found_difference(const ir::Graph& a,
                                                              const ComparedModel& b,
                                                              const CheckOptions& options) {
  if (b.engine == nullptr) {
    BackendOptions backend = b.backend;
    backend.checked_indices = true;
    const PlanOfStored plan_of = [&](const ir::Graph& graph, std::span<const SharedValue>) {
      return compile_plan(graph, backend, b.threads);
    };
    return first_difference(a, b.graph, shared_values(a, b.graph), plan_of, options);
  }
  EGRET_ASSIGN_OR_RETURN(const frontends::ObservedModel model, observed_model(b.source));
  const PlanOfStored plan_of = [&](const ir::Graph& graph, std::span<const SharedValue> stored) {
    std::vector<frontends::ObservedModel::Value> values;
    for (const SharedValue& value : stored)
      values.emplace_back(value.name, graph.node(value.b).type);
    return b.engine->load_bytes(model.with_outputs(values), graph,
                                {.threads = static_cast<int>(b.threads)});
  };
  const auto computed = [&](const std::string& name) { return model.computes(name); };
  return first_difference(a, b.graph, shared_values(a, b.graph, computed), plan_of, options);
}

}  // namespace

DifferenceText explain_difference(const ir::Graph& a, const ComparedModel& b,
                                  const CheckReport& report, const CheckOptions& options) {
  CheckOptions same = options;
  same.shrunk = report.shrunk;
  const auto found = found_difference(a, b, same);
  if (!found.ok()) return {{}, "no first difference was found: " + found.status().message() + "\n"};
  if (!*found) return {{}, "no first difference was found: in another run, no output is wrong\n"};
  return {to_json(**found), to_string(**found)};
}

}  // namespace egret::driver

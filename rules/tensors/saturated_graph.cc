// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/saturated_graph.h"

#include <utility>

#include "base/system/thread_pool.h"

namespace egret::rules {

base::Result<SaturatedGraph> saturate(const ir::Graph& graph, const AdmittedRules& rules,
                                      SaturateOptions options, std::int64_t threads,
                                      const MakeRules& further, OpenSizes* open) {
  std::unique_ptr<base::ThreadPool> own;
  const auto wanted = static_cast<std::size_t>(threads);
  options.threads = &base::shared_pool();
  if (wanted > 0 && wanted != options.threads->threads()) {
    own = std::make_unique<base::ThreadPool>(wanted);
    options.threads = own.get();
  }
  SaturatedGraph saturated;
  EGRET_ASSIGN_OR_RETURN(saturated.tensors, TensorEGraph::from_graph(graph, open));
  saturated.rules = compile(rules, *saturated.tensors);
  if (further) {
    for (CompiledRule& rule : further(*saturated.tensors))
      saturated.rules.push_back(std::move(rule));
  }
  saturated.run = saturate(*saturated.tensors, saturated.rules, options).run;
  if (saturated.run.stop != egraph::StopReason::kConflict) return saturated;
  return base::internal_error("rules contradict each other: " + saturated.run.conflict.message());
}

}  // namespace egret::rules

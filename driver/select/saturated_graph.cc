// SPDX-License-Identifier: Apache-2.0
#include "driver/select/saturated_graph.h"

#include "base/system/thread_pool.h"
#include "rules/tensors/compile.h"

namespace egret::driver {

base::Result<SaturatedGraph> saturate(const ir::Graph& graph, const rules::RuleSet& rules,
                                      rules::SaturateOptions options, std::int64_t threads) {
  std::unique_ptr<base::ThreadPool> own;
  const auto wanted = static_cast<std::size_t>(threads);
  options.threads = &base::shared_pool();
  if (wanted > 0 && wanted != options.threads->threads()) {
    own = std::make_unique<base::ThreadPool>(wanted);
    options.threads = own.get();
  }
  SaturatedGraph saturated;
  EGRET_ASSIGN_OR_RETURN(saturated.tensors, rules::TensorEGraph::from_graph(graph));
  saturated.rules = rules::compile(rules, *saturated.tensors);
  saturated.run = rules::saturate(*saturated.tensors, saturated.rules, options).run;
  if (saturated.run.stop != egraph::StopReason::kConflict) return saturated;
  return base::internal_error("rules contradict each other: " + saturated.run.conflict.message());
}

}  // namespace egret::driver

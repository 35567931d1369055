// SPDX-License-Identifier: Apache-2.0
// A graph with all that a selection of rules makes of it: what `optimize` chooses from and
// `costs profile` measures.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/saturate.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

struct SaturatedGraph {
  std::unique_ptr<rules::TensorEGraph> tensors;
  std::vector<rules::CompiledRule> rules;  // for tensors
  egraph::RunReport run;
};

// Searches with so many threads (0: as many as the process uses; `options` has no say in it).
// Reaching a limit is no error; rules that contradict each other are an internal one.
base::Result<SaturatedGraph> saturate(const ir::Graph& graph, const rules::RuleSet& rules,
                                      rules::SaturateOptions options, std::int64_t threads);

}  // namespace egret::driver

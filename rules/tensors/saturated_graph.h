// SPDX-License-Identifier: Apache-2.0
// A program with all equal programs that the rules find. It is the single entry point to equality
// saturation for every verb that rewrites, plans or measures.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "rules/tensors/admitted_rules.h"
#include "rules/tensors/saturate.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

struct SaturatedGraph {
  std::unique_ptr<TensorEGraph> tensors;
  std::vector<CompiledRule> rules;  // for tensors
  egraph::RunReport run;
};

// Makes rules specific to a program that hold by construction, as dynamic rules do.
using MakeRules = std::function<std::vector<CompiledRule>(TensorEGraph& tensors)>;

// Searches with `threads` threads; 0 means all threads of the process. options.threads is ignored.
// `further` appends rules to the admitted ones. Reaching a limit is no error: the e-graph is valid,
// and run.stop gives the reason. `open`: sizes may be symbolic, and what is decided about them
// holds for all of their values. Errors: internal_error if rules contradict each other.
base::Result<SaturatedGraph> saturate(const ir::Graph& graph, const AdmittedRules& rules,
                                      SaturateOptions options, std::int64_t threads,
                                      const MakeRules& further = {}, OpenSizes* open = nullptr);

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// A program with all the programs that rules make of it: the one way in to equality saturation, for
// every verb that rewrites, plans or measures.
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

// Rules of a program's own that hold by construction, as dynamic rules do.
using MakeRules = std::function<std::vector<CompiledRule>(TensorEGraph& tensors)>;

// Searches with `threads` threads, 0 for all of the process; options.threads is not looked at.
// `further` adds rules behind the admitted ones. A limit is no error: the e-graph is valid, and
// run.stop says why the run ended. Errors: internal where rules contradict each other.
base::Result<SaturatedGraph> saturate(const ir::Graph& graph, const AdmittedRules& rules,
                                      SaturateOptions options, std::int64_t threads,
                                      const MakeRules& further = {});

}  // namespace egret::rules

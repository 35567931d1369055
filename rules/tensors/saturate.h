// SPDX-License-Identifier: Apache-2.0
// Equality saturation of a tensor program.
//
// Multi-pattern rules (several sources, such as "two matmuls that read one input") make an e-graph
// grow doubly exponentially when they match their own results. They therefore run only in the first
// iterations (Yang et al., Equality Saturation for Tensor Graph Superoptimization, MLSys 2021,
// section 4, where this bound is called k_multi). All other rules run under the backoff scheduler.
//
// Deterministic with any number of threads, unless the time limit is reached.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/system/thread_pool.h"
#include "egraph/schedulers/scheduler.h"
#include "egraph/search/limits.h"
#include "egraph/search/rewrite.h"
#include "egraph/search/runner.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

// A rule ready for the engine; see rules/tensors/compile.h.
struct CompiledRule {
  egraph::Rewrite rewrite;
  bool multi_pattern = false;  // more than one source

  const std::string& name() const { return rewrite.name(); }
};

// Makes a scheduler for these rules.
using MakeScheduler =
    std::function<std::unique_ptr<egraph::Scheduler>(std::span<const CompiledRule> rules)>;

struct SaturateOptions {
  egraph::Limits limits = default_limits();
  int multi_pattern_iterations = 3;
  std::uint64_t match_limit = 2000;  // of the backoff scheduler, before a rule's first ban
  std::uint64_t ban_length = 3;
  // In place of the backoff scheduler. Rules with several sources stay limited as above.
  MakeScheduler scheduler{};
  base::ProgressSink* progress = nullptr;
  base::ThreadPool* threads = nullptr;  // to search with; null: the caller's alone
  // Ends the run with StopReason::kHook once it returns true; called before each iteration.
  std::function<bool()> is_done{};

  static egraph::Limits default_limits();
};

struct RuleUse {
  std::uint32_t rule = 0;  // index into the rules given
  std::string name;
  std::uint64_t applied = 0;  // applications that changed the e-graph
};

struct SaturateReport {
  egraph::RunReport run;
  std::vector<RuleUse> applied;  // rules that changed anything, in the order given
};

// Runs the rules to saturation or a limit. Also ends, with StopReason::kHook, on
// base::stop_requested(). The rule indices of TensorEGraph::creator() are indices into `rules`.
SaturateReport saturate(TensorEGraph& tensors, std::span<const CompiledRule> rules,
                        const SaturateOptions& options = {});

// The rules to which a selected program owes something: a report's "rules used". For each, counts
// the selected nodes that it made, and the selected values for which it showed that no operator is
// needed. An approximation: a rule that only enabled another one is not counted.
std::vector<RuleUse> rules_used(const TensorEGraph& tensors, std::span<const CompiledRule> rules,
                                const Selection& selection);

}  // namespace egret::rules

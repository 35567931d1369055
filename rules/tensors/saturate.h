// SPDX-License-Identifier: Apache-2.0
// Equality saturation of a tensor program.
//
// Multi-pattern rules (several sources, such as "two matmuls that read one input") grow an e-graph
// double exponentially when they feed on their own results, so they run in the first iterations
// only (Yang et al., Equality Saturation for Tensor Graph Superoptimization, MLSys 2021, section 4,
// where this bound is called k_multi). All other rules run under the backoff scheduler.
//
// Deterministic unless the time limit strikes, with any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/system/thread_pool.h"
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

struct SaturateOptions {
  egraph::Limits limits = default_limits();
  int multi_pattern_iterations = 3;
  std::uint64_t match_limit = 2000;  // of the backoff scheduler, before a rule's first ban
  std::uint64_t ban_length = 3;
  base::ProgressSink* progress = nullptr;
  base::ThreadPool* threads = nullptr;  // to search with; null: the caller's alone
  // Ends the run with StopReason::kHook once it says so; asked before each iteration.
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
// base::stop_requested(). A rule index given to TensorEGraph::creator() is one into `rules`.
SaturateReport saturate(TensorEGraph& tensors, std::span<const CompiledRule> rules,
                        const SaturateOptions& options = {});

// Which rules a selected program owes to, with how many of its nodes each made, and of how many of
// the values in it each said that they need no operator: what a report calls "rules used". An
// approximation: a rule that only prepared the ground for another is not seen.
std::vector<RuleUse> rules_used(const TensorEGraph& tensors, std::span<const CompiledRule> rules,
                                const Selection& selection);

}  // namespace egret::rules

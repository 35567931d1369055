// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/saturate.h"

#include <memory>

#include "base/stop.h"
#include "egraph/schedulers/backoff.h"

namespace egret::rules {
namespace {

// A scheduler among which multi-patterns run only in the first iterations.
class TensorScheduler : public egraph::Scheduler {
 public:
  TensorScheduler(std::unique_ptr<egraph::Scheduler> inner, std::vector<bool> multi, int iterations)
      : inner_(std::move(inner)),
        multi_(std::move(multi)),
        multi_iterations_(static_cast<std::uint64_t>(iterations)) {}

  void start(std::size_t rules) override { inner_->start(rules); }
  void learn_inverses(std::span<const std::uint32_t> inverse_of) override {
    inner_->learn_inverses(inverse_of);
  }
  std::uint64_t match_limit(std::uint64_t iteration, std::size_t rule) override {
    if (multi_[rule] && iteration >= multi_iterations_) return 0;
    return inner_->match_limit(iteration, rule);
  }
  bool resumes() const override { return inner_->resumes(); }
  bool accept(std::uint64_t iteration, std::size_t rule, bool exceeded) override {
    return inner_->accept(iteration, rule, exceeded);
  }
  void applied(std::uint64_t iteration, std::size_t rule, const Yield& yield) override {
    inner_->applied(iteration, rule, yield);
  }
  bool may_stop(std::uint64_t iteration) override { return inner_->may_stop(iteration); }
  std::vector<std::uint64_t> save() const override { return inner_->save(); }
  bool restore(std::span<const std::uint64_t> words) override { return inner_->restore(words); }

 private:
  std::unique_ptr<egraph::Scheduler> inner_;
  std::vector<bool> multi_;
  std::uint64_t multi_iterations_;
};

std::unique_ptr<egraph::Scheduler> scheduler_of(std::span<const CompiledRule> rules,
                                                const SaturateOptions& options) {
  if (options.scheduler) return options.scheduler(rules);
  return std::make_unique<egraph::BackoffScheduler>(options.match_limit, options.ban_length);
}

}  // namespace

egraph::Limits SaturateOptions::default_limits() {
  egraph::Limits limits;
  limits.iterations = 15;
  limits.nodes = 20'000;
  limits.bytes = std::uint64_t{2} << 30;
  limits.seconds = 30;
  return limits;
}

SaturateReport saturate(TensorEGraph& tensors, std::span<const CompiledRule> rules,
                        const SaturateOptions& options) {
  std::vector<egraph::Rewrite> rewrites;
  std::vector<bool> multi;
  for (const CompiledRule& rule : rules) {
    rewrites.push_back(rule.rewrite);
    multi.push_back(rule.multi_pattern);
  }
  egraph::Runner runner(tensors.egraph(), rewrites);
  runner.set_compaction(false);  // who made a node is noted by its id
  runner.limits() = options.limits;
  runner.set_threads(options.threads);
  runner.set_scheduler(std::make_unique<TensorScheduler>(
      scheduler_of(rules, options), std::move(multi), options.multi_pattern_iterations));

  const base::Progress progress(options.progress, "saturate");
  runner.hooks().before_iteration = [&](egraph::EGraph& egraph, const egraph::RunReport& report) {
    if (progress.due()) {
      progress.report({{base::kIteration, report.iterations.size()},
                       {base::kENodes, egraph.node_count()},
                       {base::kEClasses, egraph.class_count()}});
    }
    return !base::stop_requested() && !(options.is_done && options.is_done());
  };
  // The rule being applied: the one after the last rule whose matches were all applied.
  std::size_t current = 0;
  runner.hooks().after_rule = [&](const egraph::EGraph&, std::size_t rule) {
    tensors.credit_new_nodes(static_cast<std::uint32_t>(rule));
    current = rule + 1 < rules.size() ? rule + 1 : 0;
    return !base::stop_requested();
  };

  SaturateReport result;
  result.run = runner.run();
  tensors.credit_new_nodes(static_cast<std::uint32_t>(current));
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::uint64_t applied = result.run.rules[i].applied;
    if (applied > 0)
      result.applied.push_back({static_cast<std::uint32_t>(i), rules[i].name(), applied});
  }
  return result;
}

std::vector<RuleUse> rules_used(const TensorEGraph& tensors, std::span<const CompiledRule> rules,
                                const Selection& selection) {
  std::vector<std::uint64_t> nodes(rules.size(), 0);
  std::vector<bool> seen(tensors.egraph().id_count(), false);
  std::vector<egraph::ClassId> stack = tensors.roots();
  while (!stack.empty()) {
    const egraph::ClassId id = stack.back();
    stack.pop_back();
    if (seen[id.index()] || !selection.node_of[id.index()].valid()) continue;
    seen[id.index()] = true;
    const egraph::NodeId node = selection.node_of[id.index()];
    if (const std::uint32_t rule = tensors.creator(node); rule < rules.size()) ++nodes[rule];
    for (const egraph::ClassId child : tensors.egraph().children(node)) stack.push_back(child);
  }
  for (const TensorEGraph::Elimination& elimination : tensors.eliminations()) {
    if (elimination.rule < rules.size() && seen[tensors.egraph().find(elimination.id).index()])
      ++nodes[elimination.rule];
  }
  std::vector<RuleUse> used;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (nodes[i] > 0) used.push_back({static_cast<std::uint32_t>(i), rules[i].name(), nodes[i]});
  }
  return used;
}

}  // namespace egret::rules

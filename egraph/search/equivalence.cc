// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/equivalence.h"

#include "egraph/core/smallest_term.h"
#include "egraph/search/goals.h"

namespace egret::egraph {

using base::Result;

// Saturates from the start term, and looks before each iteration whether its class contains all
// goals. The run ends as soon as it does.
Result<Equivalence> check_equivalence(const Theory& theory, std::string_view start,
                                      std::span<const std::string_view> goal_texts,
                                      const EquivalenceOptions& options) {
  OpTable ops;
  Syntax syntax(ops);
  const std::unique_ptr<Analysis> analysis = theory.make_analysis(ops, syntax);
  EGraph egraph(ops, analysis.get());
  const auto rules = syntax.rules(theory.rules);
  if (!rules.ok()) return rules.status().at("rules");
  const auto root = syntax.add_term(egraph, start);
  if (!root.ok()) return root.status().at("start");
  auto goals = Goals::parse(syntax, goal_texts);
  if (!goals.ok()) return goals.status().at("goal");

  Runner runner(egraph, *rules);
  EGRET_ASSIGN_OR_RETURN(auto scheduler, make_scheduler(options.scheduler));
  runner.set_scheduler(std::move(scheduler));
  runner.limits() = options.limits;
  if (goals->size() > 0) {
    runner.hooks().before_iteration = [&](EGraph& now, const RunReport&) {
      return !goals->reached(now, *root);
    };
  }
  Equivalence result;
  result.run = runner.run();
  result.holds = goals->reached(egraph, *root) && result.run.stop != StopReason::kConflict;
  result.missing = goals->missing();
  result.nodes = egraph.node_count();
  result.classes = egraph.class_count();
  result.smallest = smallest_term(egraph, *root).text;
  return result;
}

std::string why_not_equivalent(const Theory& theory, std::string_view start,
                               std::initializer_list<std::string_view> goals,
                               const EquivalenceOptions& options) {
  const auto result = check_equivalence(
      theory, start, std::span<const std::string_view>(goals.begin(), goals.size()), options);
  if (!result.ok()) return result.status().message();
  if (result->holds) return {};
  std::string text;
  if (result->run.stop == StopReason::kConflict) {
    text = "the rules contradict each other: " + result->run.conflict.message();
  }
  for (const std::string& goal : result->missing) {
    text.append(text.empty() ? "" : "\n").append("not found: ").append(goal);
  }
  text.append("\nin ").append(std::to_string(result->run.iterations.size()));
  text.append(" iterations with ").append(std::to_string(result->nodes)).append(" nodes in ");
  text.append(std::to_string(result->classes)).append(" classes, stopped: ");
  text.append(to_string(result->run.stop)).append("; the smallest term found is ");
  return text + result->smallest;
}

std::string simplified(const Theory& theory, std::string_view start,
                       const EquivalenceOptions& options) {
  const auto result = check_equivalence(theory, start, {}, options);
  return result.ok() ? result->smallest : result.status().message();
}

}  // namespace egret::egraph

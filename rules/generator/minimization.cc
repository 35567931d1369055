// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/minimization.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <span>
#include <string>

#include "base/stop.h"
#include "base/system/thread_pool.h"
#include "rules/language/rule_names.h"

namespace egret::rules {
namespace {

std::vector<DerivationGoal> goals_of(const std::vector<Rule>& rules,
                                     const DerivationOptions& options, KnownOperators& known) {
  std::vector<DerivationGoal> goals(rules.size());
  base::shared_pool().parallel_for(rules.size(), 1, [&](std::size_t i, std::size_t) {
    if (!base::stop_requested()) goals[i] = derivation_goal(rules[i], options, known);
  });
  return goals;
}

// Whether the set derives the goals of all members.
bool derives_all(const RuleSet& set, const std::vector<DerivationGoal>& goals,
                 std::span<const std::size_t> members, const DerivationOptions& options) {
  std::vector<const ir::Graph*> sides;
  for (const std::size_t i : members) {
    if (goals[i].instances.empty()) return false;
    for (const DerivationGoal::AtHand& instance : goals[i].instances)
      sides.push_back(&instance.sides);
  }
  std::atomic<bool> all = true;
  base::shared_pool().parallel_for(sides.size(), 1, [&](std::size_t i, std::size_t) {
    if (all && !derives(set, *sides[i], options)) all = false;
  });
  return all;
}

}  // namespace

std::vector<bool> minimize(const std::vector<Rule>& rules, const RuleSet& fixed,
                           const MinimizationOptions& options, KnownOperators& known) {
  struct Unit {
    std::vector<std::size_t> members;
    double cost = 0;
  };
  const RuleScore* const wanted = find_rule_score(options.score);
  EGRET_CHECK(wanted != nullptr, "a score that there is not");
  const RuleScore score = *wanted;  // the registry may grow
  std::vector<Unit> units;
  std::map<std::string, std::size_t> unit_index;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto [found, is_new] = unit_index.emplace(name_of_pair(rules[i].name), units.size());
    if (is_new) units.push_back({{}, score.cost(rules[i], options.uses)});
    units[found->second].members.push_back(i);
  }
  std::vector<std::size_t> order;
  for (std::size_t i = units.size(); i-- > 0;) order.push_back(i);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return units[i].cost; });
  const base::Progress progress(options.progress, "minimize");
  const std::vector<DerivationGoal> goals = goals_of(rules, options.derivation, known);
  std::vector<bool> kept(rules.size(), true);
  for (std::size_t at = 0; at < order.size() && !base::stop_requested(); ++at) {
    const Unit& unit = units[order[at]];
    for (const std::size_t i : unit.members) kept[i] = false;
    RuleSet rest = fixed;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (kept[i]) rest.rules.push_back(rules[i]);
    }
    rest = without_heuristics(std::move(rest));
    if (!derives_all(rest, goals, unit.members, options.derivation)) {
      for (const std::size_t i : unit.members) kept[i] = true;
    }
    if (progress.due()) {
      progress.report({{base::kItems, at + 1}},
                      static_cast<double>(at + 1) / static_cast<double>(order.size()),
                      rules[unit.members.front()].name);
    }
  }
  return kept;
}

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/minimization.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/stop.h"

namespace egret::rules {
namespace {

constexpr std::string_view kReversed = "-reversed";

int operators(const Rule& rule) {
  int count = 0;
  const auto add = [&](const Term& term) { count += term.kind == Term::Kind::kApply ? 1 : 0; };
  for (const Binding& source : rule.sources) for_each_subterm(source.term, add);
  for (const Binding& target : rule.targets) for_each_subterm(target.term, add);
  return count;
}

// Attributes that must have one value, and places where a variable stands again.
int special(const Rule& rule) {
  int count = 0;
  std::set<int> seen;
  for (const Binding& source : rule.sources) {
    for_each_subterm(source.term, [&](const Term& term) {
      if (term.kind == Term::Kind::kTensor) count += seen.insert(term.slot).second ? 0 : 1;
      for (const Term::Attr& attr : term.attrs)
        count += attr.value.kind == Expr::Kind::kLiteral ? 1 : 0;
    });
  }
  return count;
}

double cost_by_size(const Rule& rule) {
  return 100.0 * operators(rule) + 10.0 * special(rule) +
         static_cast<double>(rule.conditions.size());
}
double cost_by_generality(const Rule& rule) {
  return 100.0 * (special(rule) + static_cast<double>(rule.conditions.size())) + operators(rule);
}

const RuleScore kScores[] = {
    {"size", "few operators, then few fixed attributes and conditions", cost_by_size},
    {"generality", "few fixed attributes and conditions, then few operators", cost_by_generality},
};

std::string unit_of(const Rule& rule) {
  std::string name = rule.name;
  if (name.ends_with(kReversed)) name.resize(name.size() - kReversed.size());
  return name;
}

}  // namespace

std::span<const RuleScore> rule_scores() { return kScores; }

const RuleScore& rule_score(std::string_view name) {
  const auto found = std::ranges::find(kScores, name, &RuleScore::name);
  EGRET_CHECK(found != std::end(kScores), "a score that there is not");
  return *found;
}

std::vector<bool> minimize(const std::vector<Rule>& rules, const RuleSet& fixed,
                           const MinimizationOptions& options, KnownSignatures& known) {
  struct Unit {
    std::vector<std::size_t> members;
    double cost = 0;
  };
  std::vector<Unit> units;
  std::map<std::string, std::size_t> unit_index;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto [found, is_new] = unit_index.emplace(unit_of(rules[i]), units.size());
    if (is_new) units.push_back({{}, options.score->cost(rules[i])});
    units[found->second].members.push_back(i);
  }
  std::vector<std::size_t> order;
  for (std::size_t i = units.size(); i-- > 0;) order.push_back(i);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return units[i].cost; });
  const base::Progress progress(options.progress, "minimize");
  std::vector<bool> kept(rules.size(), true);
  for (std::size_t at = 0; at < order.size() && !base::stop_requested(); ++at) {
    const Unit& unit = units[order[at]];
    for (const std::size_t i : unit.members) kept[i] = false;
    RuleSet rest = fixed;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (kept[i]) rest.rules.push_back(rules[i]);
    }
    rest = without_heuristics(std::move(rest));
    const bool derived = std::ranges::all_of(unit.members, [&](std::size_t i) {
      return derive(rest, rules[i], options.derivation, known).derived;
    });
    if (!derived) {
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

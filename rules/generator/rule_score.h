// SPDX-License-Identifier: Apache-2.0
// What makes a rule worth keeping when the others derive it (rules/generator/minimization.h): a
// number for each rule, and the one with the most goes first. To try another:
//
//   register_rule_score({"mine", "what it prefers", [](const Rule& rule, const RuleUses& uses) {
//                          return static_cast<double>(rule.conditions.size());
//                        }});
//
// from then on it has a name (`egret rules minimize --score mine`, `rules generate --score mine`).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "rules/language/rule.h"

namespace egret::rules {

// How many nodes of optimized models each rule made, by its name.
using RuleUses = std::map<std::string, std::uint64_t, std::less<>>;
// Of a table with the columns rule, model, count (what experiments/rule-sets writes), summed up
// over models. Errors: a line that has not these three.
base::Result<RuleUses> parse_rule_uses(std::string_view csv);

base::Result<RuleUses> read_rule_uses(const std::string& path);

struct RuleScore {
  std::string name;
  std::string help;
  std::function<double(const Rule& rule, const RuleUses& uses)> cost;  // less is better
};

// `size`, `generality`, `usefulness`, and what was registered, in that order. Not thread-safe
// against register_rule_score().
std::span<const RuleScore> rule_scores();
const RuleScore* find_rule_score(std::string_view name);  // null: there is none
// Adds a score for the life of the process; one of the same name is replaced.
void register_rule_score(RuleScore score);

}  // namespace egret::rules

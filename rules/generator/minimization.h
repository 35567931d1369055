// SPDX-License-Identifier: Apache-2.0
// Leaves out of a set the rules that the others derive under their own conditions
// (rules/generator/derivation.h), the worst by a score first. A rule and its other direction
// (NAME and NAME-reversed) stay or go together.
//
// Greedy, so the result is minimal and not the least there is. O(rules) saturations.
#pragma once

#include <string_view>
#include <vector>

#include "base/progress.h"
#include "rules/generator/derivation.h"

namespace egret::rules {

// What makes a rule worth keeping. A research score is one function and one row.
struct RuleScore {
  std::string_view name;
  std::string_view help;
  double (*cost)(const Rule& rule);  // less is better
};
std::span<const RuleScore> rule_scores();
const RuleScore& rule_score(std::string_view name);  // one of rule_scores()

struct MinimizationOptions {
  DerivationOptions derivation;
  const RuleScore* score = &rule_scores().front();
  base::ProgressSink* progress = nullptr;
};

// Which rules stay; `fixed` rules help to derive and are not looked at.
std::vector<bool> minimize(const std::vector<Rule>& rules, const RuleSet& fixed,
                           const MinimizationOptions& options, KnownSignatures& known);

}  // namespace egret::rules

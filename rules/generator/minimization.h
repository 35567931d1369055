// SPDX-License-Identifier: Apache-2.0
// Leaves out of a set the rules that the others derive under their own conditions
// (rules/generator/derivation.h), the worst by a score first. A rule and its other direction
// (NAME and NAME-reversed) stay or go together.
//
// Greedy, so the result is minimal and not the least there is. O(rules) saturations.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "rules/generator/derivation.h"
#include "rules/generator/rule_score.h"

namespace egret::rules {

struct MinimizationOptions {
  DerivationOptions derivation;
  std::string score = "size";  // of rules/generator/rule_score.h
  RuleUses uses{};
  base::ProgressSink* progress = nullptr;
};

// Which rules stay; `fixed` rules help to derive and are not looked at.
std::vector<bool> minimize(const std::vector<Rule>& rules, const RuleSet& fixed,
                           const MinimizationOptions& options, KnownOperators& known);

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// Compiles rules for the e-graph engine. Sources become a pattern. Attribute patterns with fixed
// values become predicates on operators. The remaining attributes and all conditions are checked
// when a match is applied, and callbacks build the targets.
//
// For use inside rules/ only, where candidates are tried. Programs are rewritten with AdmittedRules
// (rules/tensors/admitted_rules.h).
#pragma once

#include <span>
#include <vector>

#include "rules/language/rule.h"
#include "rules/records/rule_limit.h"
#include "rules/tensors/fixed_width.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/saturate.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

// The compiled rules refer only to the e-graph; they hold copies of the rules. A rule matches only
// what its limit admits.
CompiledRule compile(const Rule& rule, TensorEGraph& tensors,
                     Integers integers = Integers::kOfFixedWidth, RuleLimit limit = {});
std::vector<CompiledRule> compile(std::span<const Rule> rules, TensorEGraph& tensors,
                                  Integers integers = Integers::kOfFixedWidth);

// Compiles a set: rules first, then dynamic rules, in the set's order.
std::vector<CompiledRule> compile(const RuleSet& set, TensorEGraph& tensors,
                                  Integers integers = Integers::kOfFixedWidth);

}  // namespace egret::rules

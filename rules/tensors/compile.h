// SPDX-License-Identifier: Apache-2.0
// Rules for the engine: sources become a pattern, attribute patterns with fixed values become
// predicates on operators, the rest of the attributes and all conditions are looked at when a match
// is applied, targets are built by callbacks.
//
// For rules/ alone, where candidates are tried: programs are rewritten with AdmittedRules
// (rules/tensors/admitted_rules.h).
#pragma once

#include <span>
#include <vector>

#include "rules/language/rule.h"
#include "rules/tensors/fixed_width.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/saturate.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

// The compiled rules refer to the e-graph and to nothing else; they hold copies of the rules.
CompiledRule compile(const Rule& rule, TensorEGraph& tensors,
                     Integers integers = Integers::kOfFixedWidth);
std::vector<CompiledRule> compile(std::span<const Rule> rules, TensorEGraph& tensors,
                                  Integers integers = Integers::kOfFixedWidth);

// The set for an e-graph's engine: rules first, then dynamic rules, in the set's order.
std::vector<CompiledRule> compile(const RuleSet& set, TensorEGraph& tensors,
                                  Integers integers = Integers::kOfFixedWidth);

}  // namespace egret::rules

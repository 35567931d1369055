// SPDX-License-Identifier: Apache-2.0
// Which of many equal terms a set of rules derives, at the sizes of the first world.
#pragma once

#include <span>
#include <vector>

#include "rules/generator/derivation.h"
#include "rules/generator/spaces/enumeration.h"

namespace egret::rules::generator {

// Many in one e-graph, a few iterations deep: a third of a millisecond each where most are derived.
// Those that are not may be all the same. Ends early, with what was found, on
// base::stop_requested().
std::vector<bool> derived_together(TermTable& terms, const RuleSet& set,
                                   std::span<const Equality> equalities,
                                   const DerivationOptions& options);

// Each in an e-graph of its own, as deep as the options say.
std::vector<bool> derived_singly(TermTable& terms, const RuleSet& set,
                                 std::span<const Equality> equalities,
                                 const DerivationOptions& options);

// The equality at the sizes of the first world (rules/generator/rule_in_world.h).
std::vector<Rule> rules_in_first_world(TermTable& terms, const Equality& equality);

}  // namespace egret::rules::generator

// SPDX-License-Identifier: Apache-2.0
// A proven rule from which other rules may be derived (rules/proving/rewriting_proof.h).
#pragma once

#include "rules/language/rule.h"
#include "rules/records/rule_limit.h"

namespace egret::rules {

struct Lemma {
  Rule rule;
  RuleLimit limit{};  // of its proof
};

}  // namespace egret::rules

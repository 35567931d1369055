// SPDX-License-Identifier: Apache-2.0
// Rules with a planted mistake, of kinds that people make: two operands exchanged in a target, a
// condition dropped, a number in a target off by one (an axis, a pad, a stride), one variable or
// operator confused with another. Most are wrong; a few happen to be true. A verifier must not
// prove the wrong ones.
#pragma once

#include <vector>

#include "rules/language/rule.h"

namespace egret::rules {

struct Mutant {
  Rule rule;
  std::string mistake;  // "operands 1 and 2 of matmul exchanged"
};

// All mutants of the rule, in a fixed order.
std::vector<Mutant> mutants_of(const Rule& rule);

}  // namespace egret::rules

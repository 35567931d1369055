// SPDX-License-Identifier: Apache-2.0
// A space has few start tensors of a type, so a law of four tensors is found as one of three, with
// a variable that stands twice. Here such a variable is made two, if a proof still goes through.
#pragma once

#include "rules/generator/candidate_proof.h"
#include "rules/language/rule.h"

namespace egret::rules::generator {

// A proven rule with one source and target, and its verdict: as few variables as possible stand
// twice on its left side. Conditions on a variable hold for both that it is split into; they may
// come to have to be of one type. Whether any was split.
bool split_variables(Rule& rule, Verdict& verdict, const Judge& judge, KnownOperators& known);

}  // namespace egret::rules::generator

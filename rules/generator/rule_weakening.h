// SPDX-License-Identifier: Apache-2.0
// From a rule that is proven to a more general one: without the conditions that it does without,
// and with variables that stand twice made two.
//
// Steps are only screened; what they come to is verified and tested. Where that fails some step was
// wrong, and whatever followed it is wrong by the same instances: the first wrong one is found by
// halving, left out, and the steps after it are looked for anew. So a rule that takes k steps, w of
// them wrong, is verified and tested some w log k times.
#pragma once

#include "rules/generator/candidate_proof.h"
#include "rules/language/rule.h"

namespace egret::rules::generator {

// A rule with one source and target, proven with this verdict. Returns the verdict of what it
// becomes; if that is not proven, not even the rule passes tests, and is left as it was.
Verdict weaken(Rule& rule, Verdict proven, const CandidateScrutiny& scrutiny,
               KnownOperators& known);

}  // namespace egret::rules::generator

// SPDX-License-Identifier: Apache-2.0
// Finds contradictions without a solver: a sum of a few facts that is negative for all values of
// the atoms.
//
// Each fact p >= 0 is used with multiplier 1, an equation in both directions. Every atom with a
// known lower bound is first written as that bound plus a non-negative remainder. A polynomial is
// surely negative if its constant is negative and every other term is a negative multiple of
// non-negative atoms. (Farkas' lemma with multipliers of 1; the products of lower bounds make it
// more than linear.) Most questions from proofs of rules are of this kind: an index below a size
// that is below another.
#pragma once

#include "verifier/index/literal.h"

namespace egret::verifier {

bool add_up_to_contradiction(const Facts& facts);

}  // namespace egret::verifier

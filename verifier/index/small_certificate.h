// SPDX-License-Identifier: Apache-2.0
// Contradictions that need no solver: a sum of few facts that is negative whatever the atoms are.
//
// Each fact p >= 0 may be used once, an equation in both directions. A polynomial is negative for
// sure when it is so term by term after every atom with a known lower bound was written as the
// bound plus something that is not negative. (Farkas' lemma with multipliers of 1; the monomials of
// a product of lower bounds are what makes it more than linear.) Most questions that proofs of
// rules ask are of this kind: an index below a size that is below another.
#pragma once

#include "verifier/index/literal.h"

namespace egret::verifier {

bool add_up_to_contradiction(const Facts& facts);

}  // namespace egret::verifier

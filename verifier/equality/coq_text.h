// SPDX-License-Identifier: Apache-2.0
// An obligation as theorems for Coq, a proof assistant that has nothing in common with Egret.
//
// The statement is what the operators' definitions say, without any law: each operator of both
// sides becomes a function from indices to real numbers, written as in its definition, and each
// output a theorem that both functions are equal at all indices within its shape. Sizes are
// integers that meet the conditions, tensors are arbitrary functions, and so are functions such as
// erf, of which nothing is known. What the rule asks of its unknown numbers is a hypothesis, and so
// are the ranges of element types and the signs that it states. The theorems end in a tactic of the
// prelude, which may fail: Coq alone decides.
//
// An equality of reals holds for whatever numbers the elements are, so integers and truth values
// are real numbers here. Division is that of Coq, x / 0 = 0. For tensors of rank 0, that the left
// side is defined (divisors are not 0, arguments of logarithms positive) is a hypothesis; others
// have no such hypothesis, and say more than their rule.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "verifier/equality/obligation.h"

namespace egret::verifier {

// A section with the theorems. Equal statements are equal texts. Errors: unsupported, for infinite
// numbers, constant tensors, integer division, elements as indices, casts to integers, and very
// large expressions.
base::Result<std::string> coq_section(const Obligation& obligation,
                                      std::span<const ir::Guard> conditions);

// `text` within a comment of Coq.
std::string coq_comment(std::string text);

// The file that all others import: sums, products and extrema over ranges, and the tactic.
std::string_view coq_prelude();

}  // namespace egret::verifier

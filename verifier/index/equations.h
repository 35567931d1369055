// SPDX-License-Identifier: Apache-2.0
// Solves the equations among facts. Sizes that must be equal become one symbol, so terms over them
// become structurally equal and most questions become trivial.
//
//   s + p = 0                 s is -p, where p does not mention s
//   m * p = 0, m >= 1         p = 0
//   a * b = 1, a, b >= 0      a = 1, b = 1
//   a + b = 0, a, b >= 0      a = 0, b = 0
//   a * b = c * d, c, d >= 1  a, b >= 1 where a, b >= 0
//   a * b = c * d * e         products with c * d * e are written with a * b
#pragma once

#include "verifier/index/literal.h"

namespace egret::verifier {

struct Solved {
  Facts facts;                                          // what is left, sorted
  AtomTable::Substitution solution;                     // values mention no atom that is replaced
  std::vector<std::pair<Monomial, Monomial>> products;  // the first is the second, smaller one

  Polynomial apply(AtomTable& atoms, const Polynomial& polynomial) const;
};

// Replaces both sizes and indices.
Solved solve_equations(AtomTable& atoms, Facts facts);

}  // namespace egret::verifier

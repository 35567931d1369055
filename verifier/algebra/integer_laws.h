// SPDX-License-Identifier: Apache-2.0
// Laws of functions of integers; part of verifier/algebra/factor_laws.h.
//
//   quotients   quotient(a, 1) = a, quotient(-a, b) = -quotient(a, b),
//               quotient(a - b*quotient(a, b), b) = 0, trunc(a - trunc(a)) = 0;
//               of two indices, by their signs: quotient(i, j) = i div j where i >= 0 and j > 0,
//               ...
//   bits        of 0, of equal operands, of two complements; for a >= 0, a >> n = quotient(a, 2^n)
//               and a & (2^n - 1) = a - 2^n*quotient(a, 2^n)
//   casts       of values to a type that they are of
#pragma once

#include <optional>

#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

// The sum as an index, if it consists of indices and whole numbers.
std::optional<Polynomial> as_index(const Sum& sum);

// These normalize a factor whose arguments are normal already.
Sum integer_quotient(AtomTable& atoms, const Factor& factor);  // kQuotient
Sum integer_cast(Factor factor);                               // kCast to an integer or bool type
// nullopt if the function of a kCall has no laws here.
std::optional<Sum> integer_function(AtomTable& atoms, const Factor& factor);

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
// Laws of maxima and minima, of finitely many values and over ranges; part of
// verifier/algebra/factor_laws.h.
//
//   values       max(a, a) = a, max(a, max(b, c)) = max(a, b, c), max(a + 1, a) = a + 1;
//                of two values of which one is never negative and one is 0;
//                max(f(a), f(b)) = f(max(a, b)) for increasing functions
//   ranges       increasing functions, numbers and what does not vary come out; a maximum over
//                one range of maxima over others is one over both
#pragma once

#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

// Normalizes a factor kMaximum or kMinimum whose arguments are normal already.
Sum extremum(AtomTable& atoms, Factor factor);
// Normalizes a factor kReduce whose range has an element.
Sum extremum_over_range(AtomTable& atoms, Factor factor);

}  // namespace egret::verifier

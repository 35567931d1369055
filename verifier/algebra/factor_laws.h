// SPDX-License-Identifier: Apache-2.0
// Laws of functions, applied bottom-up whenever a factor is made or changed:
//
//   numbers      an index that is a number is a coefficient; 1/c and c^n are numbers
//   products     1/(c*f*g) = 1/c * 1/f * 1/g, 1/(1/f) = f, f * 1/f = 1
//   exponentials exp(0) = 1, exp(a)*exp(b) = exp(a + b), 1/exp(a) = exp(-a), exp(log(a)) = a
//   powers       pow(a, n) for small whole n and n = 1/2; pow(exp(a), b) = exp(a*b), 1/pow(a, b) =
//                pow(a, -b), sqrt(a*a) = max(a, -a)
//   roots        sqrt(a) * sqrt(a) = a, max(p, -p) * max(p, -p) = p*p, 1/sqrt(c) = sqrt(c)/c,
//                sqrt(1/a) = 1/sqrt(a)
//   logarithms   log(exp(a)) = a, log(a*b) = log(a) + log(b) where both are positive;
//                log(sqrt(a)) = log(a)/2;
//                log(a + b*exp(p)) = p + log(a*exp(-p) + b), one of these for all
//   integers     see verifier/algebra/integer_laws.h
//   parity       f(-a) = -f(a) for odd functions, f(-a) = f(a) for even ones
//   extrema      see verifier/algebra/extremum_laws.h
//   comparisons  of numbers, and of values whose difference has a known sign; [[p] = 0] = 1 - [p]
//   for truth values sums         a factor that does not vary comes out of a sum below 1/, which is
//   what makes
//                softmax(x + c) = softmax(x); so does an exponential that all terms have
//
// Each law holds for all finite reals for which its left side is defined.
#pragma once

#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

// The normal form of one factor whose arguments are normal already.
Sum lawful(AtomTable& atoms, Factor factor);
// The normal form of a term whose factors are normal already: exponentials are joined and
// cancelling factors removed.
Sum lawful(AtomTable& atoms, Term term);
Sum lawful(AtomTable& atoms, const Sum& sum);  // term by term

}  // namespace egret::verifier

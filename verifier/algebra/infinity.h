// SPDX-License-Identifier: Apache-2.0
// Values that are infinite at some places: masked scores, the padding of maxima.
//
// Such a value has one form: the factor kFiniteWhere, times 1 or -1. The factor is its argument
// where its guards hold, and minus infinity elsewhere; times -1 it is plus infinity elsewhere. The
// operations below keep this form or remove it, as exp(-inf) = 0 and max(-inf, x) = x do. All
// others must call require_finite(): inf - inf and 0 * inf are no numbers.
//
// An extremum over a range ignores the places where its argument is minus (for a minimum, plus)
// infinity. Like one over an empty range, it counts as undefined if nothing is left.
#pragma once

#include <optional>
#include <span>

#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

// A value that is finite where the guards hold.
struct Extended {
  Facts where{};  // a conjunction; impossible if the value is finite nowhere
  Sum value{};
  int sign = -1;             // of the infinity elsewhere
  bool is_infinite() const;  // everywhere
};

// nullopt if the value is finite.
std::optional<Extended> as_extended(const Sum& sum);
// The form of the value; its plain value if it is finite everywhere.
Sum as_sum(Extended extended);
Sum infinity(int sign);
// Throws NotExpressible for a value that may be infinite.
const Sum& require_finite(const Sum& sum);

// These take finite and infinite values. They throw NotExpressible where the result has no form.
Sum extended_sum(const Sum& a, const Sum& b);
Sum extended_product(AtomTable& atoms, const Sum& a, const Sum& b);
// `a` where the guards hold, else `b`. One of them is infinite at some place.
Sum extended_choice(const Sum& holds, const Sum& fails, const Sum& a, const Sum& b);
// Of kind kMaximum or kMinimum.
Sum extended_extremum(AtomTable& atoms, Factor::Kind kind, const Sum& a, const Sum& b);
Sum extended_exponential(AtomTable& atoms, const Sum& exponent);

// The value as an opaque number at infinite places, so that both sides of an equation must be
// infinite at the same ones.
Sum with_opaque_infinity(const Sum& sum);

// 1 where the conjunction does not hold, else 0: disjoint cases.
Sum where_not(const Facts& facts);

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
// Equality of values that are made of extrema, comparisons, reciprocals and opaque functions: what
// needs case distinctions over the order of reals. The values become terms of nonlinear real
// arithmetic, without quantifiers:
//
//   - a read, an extremum over a range and a sum over a range are unknowns; the same one wherever
//     they are equal, for which the caller has a say;
//   - max, min and comparisons are what they are; 1/a is r with r*a = 1 where a is not 0, and a is
//     not 0 unless there are comparisons, which may exclude the quotient;
//   - a function is an unknown for each argument: equal arguments have equal values, increasing
//     functions keep the order, values lie in the declared bounds; exp is positive with
//     exp(a) * exp(-a) = 1, sqrt(a) is the r >= 0 with r*r = a.
//
// All that is added is true of every finite value of the reals for which both sides are defined, so
// "unsatisfiable" of "the sides differ" is a proof. Bounded by the solver's work units.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "verifier/algebra/sum_form.h"
#include "verifier/solver/solver_session.h"

namespace egret::verifier {

// left < right when strict, left <= right otherwise.
struct RealOrder {
  Sum left, right;
  bool strict = false;
};

class Piecewise {
 public:
  // Whether two factors of one kind are equal by other means.
  using SameFactor = std::function<bool(const Factor&, const Factor&)>;

  Piecewise(SolverSession& session, unsigned rlimit) : session_(session), rlimit_(rlimit) {}

  // Whether there is something that is more than sums and products of unknowns.
  static bool applies(const Sum& a, const Sum& b);
  bool equal(const Sum& a, const Sum& b, const std::vector<RealOrder>& facts,
             const SameFactor& same) const;
  // Whether the facts cannot all hold.
  bool contradictory(const std::vector<RealOrder>& facts) const;

 private:
  SolverSession& session_;
  unsigned rlimit_;
};

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
// Proves the equality of values with extrema, comparisons, reciprocals and opaque functions, which
// need case distinctions over the order of reals. Values are encoded as quantifier-free nonlinear
// real arithmetic:
//
//   - a read, an extremum over a range and a sum over a range become unknowns; two that are equal,
//     as decided by structure or by the caller, become the same unknown;
//   - max, min and comparisons are encoded directly; 1/a becomes r with r*a = 1 where a is not 0.
//     Without comparisons a != 0 is assumed; a comparison may exclude the quotient, so with
//     comparisons it is not;
//   - a function becomes an unknown for each argument. Equal arguments give equal values,
//     increasing functions keep the order, and values lie in the declared bounds. exp is positive
//     with exp(a) * exp(-a) = 1; sqrt(a) is the r >= 0 with r*r = a.
//
// Every added fact holds for all finite reals for which both sides are defined. Hence an
// unsatisfiable "the sides differ" is a proof. The solver's work units bound each query.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "verifier/algebra/sum_form.h"
#include "verifier/solver/solver_session.h"

namespace egret::verifier {

// left < right if strict, left <= right otherwise.
struct RealOrder {
  Sum left, right;
  bool strict = false;
};

class Piecewise {
 public:
  // Whether two factors of one kind are equal, as decided by the caller.
  using SameFactor = std::function<bool(const Factor&, const Factor&)>;

  Piecewise(SolverSession& session, unsigned rlimit) : session_(session), rlimit_(rlimit) {}

  // Whether the values contain more than sums and products of unknowns.
  static bool applies(const Sum& a, const Sum& b);
  bool equal(const Sum& a, const Sum& b, const std::vector<RealOrder>& facts,
             const SameFactor& same) const;
  // Whether the facts are contradictory.
  bool contradictory(const std::vector<RealOrder>& facts) const;

 private:
  SolverSession& session_;
  unsigned rlimit_;
};

}  // namespace egret::verifier

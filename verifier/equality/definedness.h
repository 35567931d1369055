// SPDX-License-Identifier: Apache-2.0
// Proves that a right side is a number wherever its left side is. Needs are: divisors are not 0,
// arguments of logarithms are positive, extrema have a non-empty range. Each need of the right side
// must be obvious from signs and sizes, or be an instance of a need of the left side.
#pragma once

#include <optional>
#include <vector>

#include "verifier/algebra/element_value.h"
#include "verifier/equality/equality.h"

namespace egret::verifier {

class Definedness {
 public:
  Definedness(AtomTable& atoms, SolverSession& session, IndexSolver& solver, Equality& equality,
              unsigned rlimit)
      : atoms_(atoms), session_(session), solver_(solver), equality_(equality), rlimit_(rlimit) {}

  // A need of the right side that could not be proven, or nullptr. `orders` are known facts about
  // unknown reals.
  const Need* unproven(const std::vector<Need>& left, const std::vector<Need>& right,
                       const Facts& facts, const std::vector<RealOrder>& orders);

 private:
  bool holds(const Need& need, const std::vector<Need>& left, const Facts& facts,
             const std::vector<RealOrder>& orders);
  bool holds(const Need& need, const std::vector<Need>& left, const Term& context,
             const Facts& facts, const std::vector<RealOrder>& orders, int splits);
  const Literal* open_guard(const Need& need, const std::vector<Need>& left, const Facts& facts);
  bool is_obvious(const Need& need, const Facts& facts, const std::vector<RealOrder>& orders);
  bool is_nonzero(const Sum& sum, const std::vector<Need>& left, const Term& context,
                  const Facts& facts, const std::vector<RealOrder>& orders);
  bool is_positive(const Factor& factor, const Facts& facts);
  bool is_positive(const Term& term, const Facts& facts);
  bool is_positive(const Sum& sum, const Facts& facts);
  bool follows(const Need& need, const Need& from, const Term& context, const Facts& facts);

  AtomTable& atoms_;
  SolverSession& session_;
  IndexSolver& solver_;
  Equality& equality_;
  unsigned rlimit_;
};

}  // namespace egret::verifier

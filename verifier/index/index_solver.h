// SPDX-License-Identifier: Apache-2.0
// Decides whether facts on indices and sizes imply another fact.
//
// Queries are quantifier-free linear integer arithmetic. Nonlinear parts are linearized:
//   - each product of atoms is an unknown of its own. A fact p >= 0 times a non-negative atom is a
//     fact again. It is added if it mentions products that occur;
//   - a quotient q = a div b with b >= 1 satisfies b*q <= a <= b*q + b - 1. Two quotients, or a
//     quotient and a polynomial, that satisfy the same bounds are equal;
//   - x*m and y*m with m >= 1 are ordered as x and y;
//   - a minimum equals one of its two arguments and exceeds neither.
// Facts are split into groups without common atoms, and each group is decided separately. Two cheap
// methods run before the solver: a search for numbers that satisfy the facts
// (verifier/index/witness.h), and one for a contradiction by addition
// (verifier/index/small_certificate.h). They decide most questions. Every added fact follows from
// the hypotheses, so "unsatisfiable" is a proof. "Satisfiable" proves nothing. Deterministic: the
// solver is bounded by its own work units instead of time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "verifier/index/literal.h"
#include "verifier/index/witness.h"
#include "verifier/solver/solver_session.h"

namespace egret::verifier {

class IndexSolver {
 public:
  struct Options {
    unsigned rlimit = 4'000'000;  // of Z3, a query
    int product_rounds = 2;
  };
  using Example = std::map<std::string, std::int64_t, std::less<>>;

  // `example`: the values of symbols in one case that satisfies the hypotheses.
  IndexSolver(AtomTable& atoms, SolverSession& session, Options options, Example example = {})
      : atoms_(atoms),
        session_(session),
        options_(options),
        witnesses_(atoms, std::move(example)) {}

  // Whether the facts imply the literal. False also means "not known".
  bool implies(const Facts& facts, const Literal& goal);
  // Whether the facts are contradictory. False also means "not known".
  bool contradictory(const Facts& facts);

 private:
  bool group_contradictory(const Facts& facts);
  Facts with_consequences(const Facts& facts);
  bool ask(const Facts& facts);

  AtomTable& atoms_;
  SolverSession& session_;
  Options options_;
  WitnessSearch witnesses_;
  std::map<Facts, bool> known_;
};

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
// Decides whether facts on indices and sizes imply another.
//
// Queries are quantifier-free linear integer arithmetic. What is not linear is made so:
//   - each product of atoms is an unknown of its own; a fact p >= 0 times an atom known not to be
//     negative is a fact again, and is added where it speaks of products that occur;
//   - a quotient q = a div b with b >= 1 has b*q <= a <= b*q + b - 1; two quotients, or a quotient
//     and a polynomial, that satisfy the same bounds are equal;
//   - x*m and y*m with m >= 1 are in the order of x and y;
//   - a minimum is one of the two and not above either.
// Facts are taken apart into groups that speak of different things, each of which is asked alone.
// Before a query is made, numbers that satisfy the facts are searched for
// (verifier/index/witness.h), and a contradiction that needs no solver
// (verifier/index/small_certificate.h): together they answer most. Every fact added follows from
// the hypotheses, so that "unsatisfiable" is a proof. "Satisfiable" proves nothing. Deterministic:
// a bound on the solver's own work units instead of time.
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

  // `example`: what symbols are in one case that satisfies the hypotheses.
  IndexSolver(AtomTable& atoms, SolverSession& session, Options options, Example example = {})
      : atoms_(atoms),
        session_(session),
        options_(options),
        witnesses_(atoms, std::move(example)) {}

  // Whether the facts imply the literal. False also means "not known".
  bool implies(const Facts& facts, const Literal& goal);
  // Whether the facts cannot all hold.
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

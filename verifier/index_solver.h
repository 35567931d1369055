// SPDX-License-Identifier: Apache-2.0
// Decides whether facts on indices and sizes imply another: the only place where a solver is asked.
//
// Queries are quantifier-free linear integer arithmetic. What is not linear is made so:
//   - each product of atoms is an unknown of its own; a fact p >= 0 times an atom known not to be
//     negative is a fact again, and is added where it speaks of products that occur;
//   - a quotient q = a div b with b >= 1 has b*q <= a <= b*q + b - 1; two quotients, or a quotient
//     and a polynomial, that satisfy the same bounds are equal;
//   - x*m and y*m with m >= 1 are in the order of x and y;
//   - a minimum is one of the two and not above either.
// Facts are taken apart into groups that speak of different things, each of which is asked alone.
// Before a query is made, numbers that satisfy the facts are searched for (verifier/witness.h), and
// a contradiction that needs no solver (verifier/small_certificate.h): together they answer most.
// Every fact added follows from the hypotheses, so that "unsatisfiable" is a proof. "Satisfiable"
// proves nothing. Deterministic: a bound on the solver's own work units instead of time, a fixed
// seed, a fresh context for each query.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "verifier/literal.h"
#include "verifier/witness.h"

namespace egret::verifier {

class IndexSolver {
 public:
  struct Options {
    unsigned rlimit = 4'000'000;  // of Z3, a query
    int product_rounds = 2;
  };
  struct Statistics {
    int queries = 0;
    int answered_without = 0;  // by a witness, a small certificate or from memory
  };

  using Example = std::map<std::string, std::int64_t, std::less<>>;

  // `example`: what symbols are in one case that satisfies the hypotheses.
  IndexSolver(AtomTable& atoms, Options options, Example example = {})
      : atoms_(atoms), options_(options), witnesses_(atoms, std::move(example)) {}

  // Whether the facts imply the literal. False also means "not known".
  bool implies(const Facts& facts, const Literal& goal);
  // Whether the facts cannot all hold.
  bool contradictory(const Facts& facts);

  const Statistics& statistics() const { return statistics_; }
  // The queries asked of the solver, as SMT-LIB, in order; kept when asked for.
  void keep_queries(bool keep) { keep_ = keep; }
  const std::vector<std::string>& queries() const { return queries_; }

 private:
  bool group_contradictory(const Facts& facts);
  Facts with_consequences(const Facts& facts);
  bool ask(const Facts& facts);

  AtomTable& atoms_;
  Options options_;
  WitnessSearch witnesses_;
  Statistics statistics_;
  std::map<Facts, bool> known_;
  bool keep_ = false;
  std::vector<std::string> queries_;
};

}  // namespace egret::verifier

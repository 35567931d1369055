// SPDX-License-Identifier: Apache-2.0
// Proves that two values in sum form are equal wherever the given facts hold.
//
//   1. The facts simplify each side. Terms with an impossible guard are removed, and so are guards
//      that the facts imply. A variable that a guard determines is replaced; this is how a product
//      with an identity matrix loses its sum. Quotients that the facts determine are replaced.
//   2. A guard without bound variables that the facts leave open splits the proof into cases.
//   3. Terms are matched one to one. Two terms match if some bijection between their variables
//      makes the guards equivalent and the factors equal. Bijections are found by solving the
//      equations between the indices of paired reads, in both directions: shifts, reversals,
//      permutations and the mixed-radix splits k <-> (k div n, k mod n). A bijection is given as
//      functions with their inverses. The prover checks that they map into the domain in both
//      directions and that both compositions are the identity; no quantifier remains.
//   4. One sum over a range may match several sums over parts of the range. The prover removes the
//      image of one part under such a map and continues with the remainder. Likewise, an extremum
//      over a range may match the extremum of extrema over its parts. The prover also splits the
//      range of a sum or an extremum where a guard inside a function or inside the extremum
//      depends on its variable.
//   5. The remaining terms are given to real arithmetic (verifier/equality/piecewise.h). If an
//      extremum stands inside a function, one proof is made per argument of the extremum, under
//      the assumption that this argument is the extremum. If a signed integer stands inside a
//      function of integers, one proof is made for each sign.
//
// "False" means not proven.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verifier/algebra/sum_form.h"
#include "verifier/equality/piecewise.h"

namespace egret::verifier {

class Equality {
 public:
  struct Options {
    int cases = 64;  // most case distinctions in one proof
    int depth = 12;  // of nested sums
    int real_queries = 24;
    unsigned rlimit = 1'000'000;  // of a query of real arithmetic
  };

  Equality(AtomTable& atoms, SolverSession& session, IndexSolver& solver, Options options)
      : atoms_(atoms), session_(session), solver_(solver), options_(options) {}

  // Facts about values that do not depend on indices.
  void assume(std::vector<RealOrder> orders) { orders_ = std::move(orders); }
  bool prove(const Sum& left, const Sum& right, const Facts& facts);
  // Whether the values of some pair differ. Which pair may depend on sizes. Values with sums or
  // extrema over a range are left out.
  bool some_differ(std::vector<std::pair<Sum, Sum>> sides, const Facts& facts);
  // Values for the unknowns in `b` under which it reads what `a` reads. Unknowns that no equation
  // determines get 0.
  AtomTable::Substitution instantiation(const std::vector<AtomId>& unknowns, const Sum& a,
                                        const Sum& b, const Facts& in_a, const Facts& in_b);
  // The steps of the last proof, one per line: bijections, cases, and unmatched terms.
  const std::vector<std::string>& trace() const { return trace_; }

 private:
  struct Equation {
    Polynomial a, b;
  };
  // A binder of one side: variables and the guards that define their range.
  struct Domain {
    const std::vector<AtomId>* variables;
    const Facts* guards;
  };
  struct Bijection {
    AtomTable::Substitution to_a;  // b's variables as expressions over a's
    AtomTable::Substitution to_b;
  };

  bool differ(std::vector<std::pair<Sum, Sum>> sides, const Facts& facts);
  bool alike_without_facts(const Sum& left, const Sum& right);
  bool equal(Sum a, Sum b, const Facts& facts, int depth);
  Sum simplified(const Sum& sum, const Facts& facts, int depth);
  bool simplify_term(Term& term, const Facts& facts, int depth);
  AtomTable::Substitution eliminate_variables(std::vector<AtomId>& variables, Facts& guards);
  Sum lawful_term(const Term& term, const Facts& facts);
  std::optional<Sum> extremum_by_parts(const Factor& factor, const Facts& facts);
  static void join_bounds(Facts& guards);
  std::optional<Polynomial> solved_for(AtomId variable, const Polynomial& equation) const;
  bool determines_one(const Facts& guards, const std::vector<AtomId>& variables) const;
  bool implies(const Facts& facts, const Literal& goal);
  bool has_composites(const Polynomial& polynomial) const;
  bool simplify_guards(Facts& guards, const std::vector<AtomId>& variables, const Facts& facts);
  Polynomial simplified(const Polynomial& polynomial, const Facts& facts);
  static Polynomial with_multiples(const Polynomial& a, const Polynomial& b, const Facts& facts);
  Polynomial simplified_quotient(const Polynomial& a, const Polynomial& b, const Facts& facts);
  Factor simplified(const Factor& factor, const Facts& facts, int depth);
  const Literal* open_guard(const Sum& a, const Sum& b) const;
  bool all_matched(const Sum& a, const Sum& b, const Facts& facts, int depth);
  void count_unused(Term& term, const Facts& facts);
  bool equal_by_parts(const Sum& a, const Sum& b, const Facts& facts, int depth);
  bool equal_by_parts_of_extremum(const Sum& a, const Sum& b, const Facts& facts, int depth);
  std::optional<Factor> without_part(const Factor& whole, const Factor& part, const Facts& facts,
                                     int depth);
  std::optional<Facts> image_of(const Term& whole, const Term& part);
  std::optional<Literal> inner_guard(const Term& term) const;
  std::vector<RealOrder> known_orders(const Sum& a, const Sum& b, const Facts& facts);
  bool equal_as_reals(const Sum& a, const Sum& b, const Facts& facts, int depth);
  bool equal_by_sign(const Sum& a, const Sum& b, const Facts& facts, int depth);
  bool equal_by_extremum(const Sum& a, const Sum& b, const Facts& facts, int depth);

  bool terms_match(const Term& a, const Term& b, const Facts& facts, int depth);
  bool pair_factors(const Term& a, const Term& b, std::size_t next, std::vector<int>& partner,
                    const Facts& facts, int depth);
  bool paired_terms_match(const Term& a, const Term& b, const std::vector<int>& partner,
                          const Facts& facts, int depth);
  bool factors_equal(const Factor& a, const Factor& b, const Facts& facts, int depth);
  bool arguments_equal(const Factor& a, const Factor& b, const Facts& facts, int depth);
  bool find_bijection(Domain a, Domain b, const std::vector<Equation>& equations,
                      const Facts& facts, Bijection& found);
  bool is_bijection(Domain a, Domain b, const Facts& facts, Bijection& found);
  void solve(const std::vector<AtomId>& unknowns, const std::vector<Equation>& equations,
             AtomTable::Substitution& solution);
  static bool may_pair(const Factor& a, const Factor& b);
  static void read_equations(const Factor& a, const Factor& b, std::vector<Equation>& equations);

  AtomTable& atoms_;
  SolverSession& session_;
  IndexSolver& solver_;
  Options options_;
  int cases_ = 0;
  bool without_facts_ = false;  // simplify by structure alone
  int real_queries_ = 0;
  std::vector<RealOrder> orders_;
  std::vector<std::string> trace_;
};

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/range_member.h"

#include <algorithm>

namespace egret::verifier {
namespace {

constexpr std::size_t kMostCandidates = 5;  // for one variable

}  // namespace

// Substitutes candidate values for one variable after the other: lower bounds with coefficient 1,
// solved equations, and 0. At most kMostCandidates^variables combinations.
bool has_member(AtomTable& atoms, IndexSolver& solver, const std::vector<AtomId>& variables,
                const Facts& guards, const Facts& facts) {
  if (guards.empty() && variables.empty()) return true;
  if (variables.empty()) {
    return std::ranges::all_of(guards,
                               [&](const Literal& guard) { return solver.implies(facts, guard); });
  }
  const AtomId variable = variables.back();
  const std::vector<AtomId> others(variables.begin(), variables.end() - 1);
  std::vector<Polynomial> candidates;
  for (const Literal& guard : guards) {
    const std::int64_t scale = guard.polynomial.coefficient({variable});
    const Polynomial rest = guard.polynomial - Polynomial(scale) * Polynomial(variable);
    if (atoms.occurs(variable, rest)) continue;
    const bool lower = guard.relation == Literal::Relation::kNonNegative && scale == 1;
    const bool exact = guard.relation == Literal::Relation::kZero && (scale == 1 || scale == -1);
    if (lower || exact) candidates.push_back(scale == 1 ? -rest : rest);
  }
  candidates.emplace_back(0);
  if (candidates.size() > kMostCandidates) candidates.resize(kMostCandidates);
  return std::ranges::any_of(candidates, [&](const Polynomial& candidate) {
    const AtomTable::Substitution by{{variable, candidate}};
    Facts at = guards;
    for (Literal& guard : at) guard.polynomial = atoms.substitute(guard.polynomial, by);
    return has_member(atoms, solver, others, at, facts);
  });
}

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/proven_families.h"

#include <algorithm>

namespace egret::rules {

bool same_conditions(const Family& a, const Family& b) {
  return std::ranges::equal(
      a.conditions, b.conditions, {},
      [](const ir::Guard& condition) { return ir::to_string(condition); },
      [](const ir::Guard& condition) { return ir::to_string(condition); });
}

FamilyProof prove_equal(const Rule& rule, const Instance& instance, const Family& family,
                        verifier::SolverSession& session) {
  const auto proof_of = [&](const Family& one) {
    return one.obligation->prove(one.conditions, {.example = one.example, .session = &session});
  };
  FamilyProof made{.proof = proof_of(family)};
  if (!made.proof.proven || family.reals.empty()) return made;
  const base::Result<Family> other = generalize(rule, instance, {.salt = 1});
  made.independent =
      other.ok() && same_conditions(family, *other) && proof_of(*other).lines == made.proof.lines;
  return made;
}

void ProvenFamilies::add(const Family& family) {
  entries_[family.structure].push_back(
      {family.reals, family.reals_structure, ir::GuardProgram(family.conditions)});
}

// A family contains an instance of its structure if the known reals agree and the integers satisfy
// its conditions.
bool ProvenFamilies::contain(const Numbers& numbers) const {
  const auto alike = entries_.find(numbers.structure);
  return alike != entries_.end() && std::ranges::any_of(alike->second, [&](const Entry& entry) {
           return structure_of_reals(numbers, entry.unknown_reals) == entry.reals &&
                  entry.conditions.holds(numbers.integers);
         });
}

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/proven_families.h"

#include <algorithm>

namespace egret::rules {

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

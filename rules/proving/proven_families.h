// SPDX-License-Identifier: Apache-2.0
// The proven families of a rule. Their members need no further proof.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/core/symbol_values.h"
#include "rules/proving/generalization.h"
#include "verifier/solver/solver_session.h"

namespace egret::rules {

// A comparison with a number that stands for an unknown real, instead of what it stands for, is no
// condition: families of one instance with different numbers have the same conditions.
bool same_conditions(const Family& a, const Family& b);

struct FamilyProof {
  verifier::Proof proof;
  bool independent = true;  // of the numbers that stand for unknown reals
};
// Proves that the sides of the family of the instance are equal. A result computed from a number
// that stands for an unknown real would depend on it; a second proof with other numbers detects
// this.
FamilyProof prove_equal(const Rule& rule, const Instance& instance, const Family& family,
                        verifier::SolverSession& session);

class ProvenFamilies {
 public:
  void add(const Family& family);
  // Whether the instance with these numbers is a member of a proven family.
  bool contain(const Numbers& numbers) const;

 private:
  struct Entry {
    std::set<std::string> unknown_reals;
    std::string reals;
    ir::GuardProgram conditions;
  };

  std::map<std::string, std::vector<Entry>> entries_;  // by structure
};

}  // namespace egret::rules

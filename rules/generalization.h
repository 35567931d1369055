// SPDX-License-Identifier: Apache-2.0
// From one concrete instance of a rule to a family of instances: the sizes and integer attributes
// become symbols, the rule is bound and built again over them as the instance was, and what had to
// be so on the way becomes the family's conditions (ir/symbolic_scope.h). The instance satisfies
// them, so that no family is empty.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ir/symbolic_scope.h"
#include "rules/instantiation.h"
#include "verifier/obligation.h"

namespace egret::rules {

// The numbers of an instance, by the names of the symbols that stand for them in its families.
struct Numbers {
  std::map<std::string, std::int64_t, std::less<>> integers;  // sizes too
  std::map<std::string, double, std::less<>> reals;
  // Ranks, element types, texts, lengths and the integers that stay numbers.
  std::string structure;
};
Numbers numbers_of(const Rule& rule, const Instance& instance);

struct Family {
  std::shared_ptr<verifier::Obligation> obligation;
  std::vector<ir::Guard> conditions;  // over the symbols; the first say that sizes are at least 1
  std::string structure;              // of the numbers
  std::string reals_structure;        // which reals are equal, and what those are that are known
  std::string ranks;                  // "?x: 4, ?w: 4"
  // Unknown reals: attributes that the rule leaves open, and constants that are one number
  // everywhere. Families of one rule and instance with other `salt` differ in the numbers that
  // stand for them.
  std::set<std::string> reals;
  // What the symbols are in the instance.
  std::map<std::string, std::int64_t, std::less<>> example;
};

// As general as the operators' definitions allow. Errors: what the operators report when no
// generalization is possible.
base::Result<Family> generalize(const Rule& rule, const Instance& instance, int salt = 0);

// Whether the instance with these numbers is a member.
bool contains(const Family& family, const Numbers& numbers);

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// The proven families of a rule. Their members need no further proof.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/core/symbol_values.h"
#include "rules/proving/generalization.h"

namespace egret::rules {

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

// SPDX-License-Identifier: Apache-2.0
// Finds members of a family: values for its symbols that satisfy its conditions.
//
// Backtracking over the symbols. A branch ends as soon as a condition whose symbols are all
// assigned fails. Deterministic: bounded by counts, never by time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/random.h"
#include "ir/core/symbol_values.h"
#include "rules/proving/generalization.h"

namespace egret::rules {

class MemberSearch {
 public:
  using Integers = std::map<std::string, std::int64_t, std::less<>>;

  explicit MemberSearch(const Family& family);

  // All members whose values are at most `bound`. nullopt if there are more than `most` or the
  // search exceeds its step limit.
  std::optional<std::vector<Integers>> up_to(std::int64_t bound, std::int64_t most) const;
  // A random one of these members. Finding none proves nothing.
  std::optional<Integers> draw_up_to(std::int64_t bound, base::Random random) const;

 private:
  struct Step {
    std::string symbol;
    ir::GuardProgram decided;         // conditions that have all their symbols from here on
    std::vector<std::size_t> places;  // of their symbols, among the steps
  };
  class Walk;

  std::vector<Step> steps_;  // in the order in which symbols are assigned
};

}  // namespace egret::rules

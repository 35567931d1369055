// SPDX-License-Identifier: Apache-2.0
// Members of a family: numbers for its symbols that satisfy its conditions.
//
// Symbols are assigned one after the other; a branch is left as soon as a condition that has all
// its symbols fails. Deterministic; counts bound it, never time.
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

  // All whose numbers are at most `bound`; nullopt when there are more than `most`, or the search
  // is too long.
  std::optional<std::vector<Integers>> up_to(std::int64_t bound, std::int64_t most) const;
  // One of those, drawn at random; finding none says nothing.
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

// SPDX-License-Identifier: Apache-2.0
// What differs between a graph and one that computes the same, by regions.
//
// Values of the two graphs correspond where they are the same output, or have one name, since a
// rewritten program keeps the names of the program's values. Values without a common name
// correspond where they are the same operator on corresponding values. An operator stays if its
// counterpart is the same operator on corresponding operands and no rule made it. The others form
// regions: operators that compute a value in place of each other, and those that feed each other by
// values that only one of the graphs has.
//
// What depends on weights alone counts as a weight: folding it changes no drawing. Weights of one
// name correspond if they are equal; others correspond by type, since rules and folding rename
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "driver/select/rule_marks.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct GraphDifference {
  enum class State : std::uint8_t {
    kSame,
    kRewired,  // the counterpart is the same operator on other operands
    kChanged,  // there is no such counterpart
  };
  struct Region {
    std::vector<ir::NodeId> before;  // operators that do not stay, ascending
    std::vector<ir::NodeId> after;
  };
  std::vector<State> before;  // by node; leaves, weights and dead nodes are kSame
  std::vector<State> after;
  std::vector<bool> weights_before;  // by node: whether it depends on weights alone
  std::vector<bool> weights_after;
  std::vector<Region> regions{};  // by their first node of the original, or of the result
};

// O(nodes, and bytes of weights with one name in both graphs).
GraphDifference difference_of(const ir::Graph& before, const ir::Graph& after,
                              const RuleMarks& made_by = {});

}  // namespace egret::driver

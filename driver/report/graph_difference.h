// SPDX-License-Identifier: Apache-2.0
// What differs between a graph and one that computes the same, by regions.
//
// Values of the two graphs correspond where they have one name, since a rewritten program keeps the
// names of the program's values; values without a common name correspond where they are the same
// operator on corresponding values. An operator stays if its counterpart is the same operator on
// corresponding operands. The others form regions: operators that feed each other, and those that
// compute a value in place of each other.
#pragma once

#include <cstdint>
#include <vector>

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
  std::vector<State> before;  // by node; leaves and dead nodes are kSame
  std::vector<State> after;
  std::vector<Region> regions{};  // by their first node of the original, or of the result
};

// O(nodes, and bytes of weights with one name in both graphs).
GraphDifference difference_of(const ir::Graph& before, const ir::Graph& after);

}  // namespace egret::driver

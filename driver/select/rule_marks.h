// SPDX-License-Identifier: Apache-2.0
// The rules that made the nodes of a graph.
#pragma once

#include <map>
#include <string>

#include "ir/graph/graph.h"

namespace egret::driver {

// The name of the rule, by node; a node of the program itself has none.
using RuleMarks = std::map<ir::NodeId, std::string>;

// The marks of a graph that computes the same as another one, with some values folded into
// constants: both are walked from their outputs, as far as they are the same operators. O(nodes).
RuleMarks carried_over(const RuleMarks& marks, const ir::Graph& from, const ir::Graph& to);

}  // namespace egret::driver

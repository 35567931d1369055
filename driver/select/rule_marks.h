// SPDX-License-Identifier: Apache-2.0
// The rules that made the nodes of a graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::driver {

// The name of the rule, by node; a node of the program itself has none.
using RuleMarks = std::map<ir::NodeId, std::string>;

// For each node of a graph, the node of another one that it stands for; invalid where there is
// none. The graph computes the same as the other, with some values folded into constants: both are
// walked from their outputs, as far as they are the same operators. O(nodes).
std::vector<ir::NodeId> counterparts(const ir::Graph& from, const ir::Graph& to);

// The marks of the counterparts.
RuleMarks carried_over(const RuleMarks& marks, const ir::Graph& from, const ir::Graph& to);

}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
// One application of a rule to a graph: the value of one node is replaced by what the rule makes of
// it. For rules with one source and one target; heuristics are not asked.
//
// Sizes may be symbolic (ir/core/symbolic_scope.h): the rule is matched, its conditions are decided
// and its target is typed as in the scope's example, and what that takes is noted. What it does to
// a graph over symbols and to that graph's example is the same, node by node.
#pragma once

#include <optional>

#include "ir/graph/graph.h"
#include "rules/language/rule.h"

namespace egret::rules {

bool is_single(const Rule& rule);  // one source, one target

// Nullopt where the rule does not match at the node, or makes nothing of its type.
// O(nodes) and what the rule builds.
std::optional<ir::Graph> rewritten(const ir::Graph& graph, ir::NodeId at, const Rule& rule);

// Whether two nodes are the same term over the same inputs.
bool same_term(const ir::Graph& a, ir::NodeId x, const ir::Graph& b, ir::NodeId y);
// Whether the outputs are the same terms.
bool same_terms(const ir::Graph& a, const ir::Graph& b);

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// Applies a rule once to a graph: replaces the value of one node by the rule's target. For rules
// with one source and one target. Heuristics are ignored.
//
// Sizes may be symbolic (ir/core/symbolic_scope.h). Matching, conditions and typing then follow the
// scope's example, and the decisions are recorded. The effect on a symbolic graph equals that on
// its example, node by node.
#pragma once

#include <optional>
#include <span>

#include "base/function_ref.h"
#include "ir/graph/graph.h"
#include "rules/language/rule.h"

namespace egret::rules {

bool is_single(const Rule& rule);  // one source, one target

// Whether a rule may be applied where its variables, in its order, stand for these nodes.
using Admission = base::FunctionRef<bool(std::span<const ir::NodeId> variables)>;

// nullopt if the rule does not match at the node, is not admitted, or its target has another type.
// O(nodes) plus the cost of building the target.
std::optional<ir::Graph> rewritten(const ir::Graph& graph, ir::NodeId at, const Rule& rule,
                                   Admission admits);
std::optional<ir::Graph> rewritten(const ir::Graph& graph, ir::NodeId at, const Rule& rule);

// Whether two nodes are the same term over the same inputs.
bool same_term(const ir::Graph& a, ir::NodeId x, const ir::Graph& b, ir::NodeId y);
// Whether the outputs are the same terms, in order.
bool same_terms(const ir::Graph& a, const ir::Graph& b);

}  // namespace egret::rules

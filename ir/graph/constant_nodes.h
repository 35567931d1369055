// SPDX-License-Identifier: Apache-2.0
// Nodes that depend on constants alone, and constants in their places. The two halves of constant
// folding; who folds decides which of these nodes to compute, with what, and in which precision:
// frontends/nodes/constant_folder.h, rules/tensors/constant_folding.h and backends/prepare.h.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::ir {

// By node: a constant, or an operator that `admits` takes (all, if empty) and whose inputs are such
// nodes. An operator without inputs is one. O(nodes + edges).
std::vector<bool> constant_nodes(const Graph& graph,
                                 const std::function<bool(const Node&)>& admits = {});
// The same for a graph that grows: `constant` covers its first nodes and is extended to all.
void extend_constant_nodes(const Graph& graph, std::vector<bool>& constant,
                           const std::function<bool(const Node&)>& admits = {});

// The graph with constants in place of these nodes, of the same types and names. All nodes keep
// their ids; those that only the replaced ones read are dead.
Graph with_constants(const Graph& graph, const std::map<NodeId, Tensor>& values);

}  // namespace egret::ir

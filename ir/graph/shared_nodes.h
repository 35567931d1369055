// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/graph/graph.h"

namespace egret::ir {

// Common subexpression elimination: merges operators with equal attributes and inputs, and unnamed
// constants of equal contents. Dead nodes are left out; inputs and outputs stay as they are. Linear
// in nodes and in the bytes of unnamed constants.
Graph with_shared_nodes(const Graph& graph);

}  // namespace egret::ir

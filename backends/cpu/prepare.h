// SPDX-License-Identifier: Apache-2.0
// What compile() does to a graph before kernels are chosen.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "ir/graph.h"

namespace egret::backends::cpu {

struct PreparedGraph {
  ir::Graph graph;
  std::vector<ir::NodeId> origin;  // by node: the node of the given graph it computes, or invalid
  std::int64_t folded_nodes = 0;
};

// Without dead nodes, composites that have no kernel and are not pointwise replaced by their
// bodies, and nodes of constants alone computed (through a plan of their own) and made constants.
// Errors: unsupported for symbolic sizes; limit_hit for tensors that no memory holds.
base::Result<PreparedGraph> prepare(const Backend& backend, const ir::Graph& graph,
                                    const PlanOptions& options);

}  // namespace egret::backends::cpu

// SPDX-License-Identifier: Apache-2.0
// The arithmetic and memory traffic of a plan's kernels, from the definitions of their operators:
// with the times they give rates.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "ir/graph/graph.h"
#include "ir/nest/work.h"

namespace egret::backends {

// One entry for each kernel of the report; `graph` is the one that the plan was compiled from.
// Arithmetic is that of all operators of a kernel (ir/nest/work.h). Bytes are those that cross the
// kernel's border: values from outside, each once and as far as a lone operator reads it, and
// results that other kernels read or that are outputs. Work that several kernels share is billed to
// the last of them. A reorder has no operators and no work. Errors: those of ir::work_of(). O(graph
// + kernels).
base::Result<std::vector<ir::Work>> work_of_kernels(const ir::Graph& graph,
                                                    const PlanReport& report);

}  // namespace egret::backends

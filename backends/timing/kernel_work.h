// SPDX-License-Identifier: Apache-2.0
// What the kernels of a plan compute and move, by the definitions of the operators they run: the
// other half of "how fast is it", beside the time.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "ir/graph/graph.h"
#include "ir/nest/work.h"

namespace egret::backends {

// One entry a kernel of the report, in its order; `graph` is the one that the plan was compiled of.
// Arithmetic is that of all operators of a kernel (ir/nest/work.h). Bytes are those that have to
// cross its border: values from outside, each once and as far as a lone operator reads it, and
// results that others read or that are outputs. What several kernels compute together is billed to
// the last of them. A reorder has no operators: no work. Errors: those of ir::work_of(). O(graph +
// kernels).
base::Result<std::vector<ir::Work>> work_of_kernels(const ir::Graph& graph,
                                                    const PlanReport& report);

}  // namespace egret::backends

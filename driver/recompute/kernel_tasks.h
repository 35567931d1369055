// SPDX-License-Identifier: Apache-2.0
// A graph's kernels as tasks whose values may be computed again, and a schedule of them as a graph.
#pragma once

#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/value_storage.h"
#include "base/status.h"
#include "extract/recompute/schedule.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// A kernel stores the value of its last node. Kernels that only rename a value (reshapes) are no
// tasks: they are made anew where they are read. Values that leave the graph lie in the caller's
// memory and take none; so do the graph's inputs.
struct KernelTasks {
  extract::RecomputeProblem problem;
  backends::Division kernels{};  // by task; their nodes
  backends::Division views{};
};

// The tasks of a division, in the order of their last nodes. Costs are `roofline_seconds()` of the
// kernels at default rates; `forward` is what the first output needs. Errors: unsupported where a
// kernel reads a value that is not the last one of another kernel.
base::Result<KernelTasks> kernel_tasks(const ir::Graph& graph, const backends::Division& division);

// A graph that computes its tasks in this order: each computation has nodes of its own, which no
// step of compile() merges, and is a kernel of the division.
struct ScheduledGraph {
  ir::Graph graph;
  backends::Division division{};
  // By kernel of the division: the task; -1 for a view, and for what comes back from storage.
  std::vector<int> tasks{};
  // Values that leave memory as soon as they are computed first, and each time that they come back.
  std::vector<backends::StoredValue> stored_values{};
};

// `order` is valid for the tasks (extract::schedule_of()). O(order and nodes).
ScheduledGraph scheduled_graph(const ir::Graph& graph, const KernelTasks& tasks,
                               std::span<const int> order);

}  // namespace egret::driver

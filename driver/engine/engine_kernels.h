// SPDX-License-Identifier: Apache-2.0
// The kernels that an engine ran, as kernels of a graph.
//
// An engine names the values of the file that each of its kernels stores. What it computed on the
// way to a value, and stored nowhere, belongs to the same kernel.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/formats/json.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// One kernel, as an engine's answer to the request "kernels" has it (docs/engines.md).
struct EngineKernel {
  std::string name;
  std::string type;                 // the engine's name for the operator
  std::vector<std::string> values;  // of the file that it stores; none: a reorder, or the like
  double seconds = 0;               // of one run
};

// Errors: unavailable for an answer of another form.
base::Result<std::vector<EngineKernel>> kernels_in(const base::Json& answer);

// `makers`: the node of the graph that each value of the file was written for. A node of which the
// engine stores several values is in several kernels. Operators before the first stored value that
// needs them are in its kernel; those behind the last one are in the kernel of their first operand.
// O(nodes and kernels).
std::vector<backends::PlanReport::Kernel> kernels_of(
    const ir::Graph& graph, const std::map<std::string, ir::NodeId>& makers,
    std::span<const EngineKernel> kernels);

}  // namespace egret::driver

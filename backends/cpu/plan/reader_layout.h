// SPDX-License-Identifier: Apache-2.0
// The layout in which a kernel best writes a value that is transposed next.
#pragma once

#include <optional>

#include "backends/cpu/plan/layout.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// The layout of the value in which its only reader, a transpose, becomes a row-major view. Nothing
// where the value has another reader, or is an output. O(nodes behind it in the graph).
std::optional<Layout> layout_of_any_transpose(const ir::Graph& graph, ir::NodeId value);
// The same of a transpose that leaves the last axis where it is, so that rows stay contiguous:
// heads beside one another behind the products of attention.
std::optional<Layout> layout_of_transpose(const ir::Graph& graph, ir::NodeId value);

}  // namespace egret::backends::cpu

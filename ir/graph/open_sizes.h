// SPDX-License-Identifier: Apache-2.0
// The symbolic sizes of a graph's inputs.
#pragma once

#include <set>
#include <string>

#include "ir/graph/graph.h"

namespace egret::ir {

// The symbols in the types of its inputs, as bind_symbols() takes them.
std::set<std::string> open_sizes(const Graph& graph);
// The inputs with symbolic sizes, at most ten: "'x' f32[batch,3,H,W], 'y' f32[batch]".
std::string open_inputs(const Graph& graph);

}  // namespace egret::ir

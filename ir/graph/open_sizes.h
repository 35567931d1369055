// SPDX-License-Identifier: Apache-2.0
// Which sizes a graph leaves open.
#pragma once

#include <set>
#include <string>

#include "ir/graph/graph.h"

namespace egret::ir {

// The symbols in the types of its inputs, as bind_symbols() takes them.
std::set<std::string> open_sizes(const Graph& graph);
// "'x' f32[batch,3,H,W], 'y' f32[batch]": the inputs that have them, the first ten.
std::string open_inputs(const Graph& graph);

}  // namespace egret::ir

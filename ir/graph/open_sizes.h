// SPDX-License-Identifier: Apache-2.0
// The symbolic sizes of a graph's inputs.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::ir {

using SymbolNames = std::set<std::string, std::less<>>;

// The symbols in expressions. These share parts; the walk is linear in their nodes.
SymbolNames symbols_of(std::vector<const ExprNode*> roots);
SymbolNames symbols_of(std::span<const Index> sizes);
// The symbols in the types of its inputs, as bind_symbols() takes them.
SymbolNames open_sizes(const Graph& graph);
// The inputs with symbolic sizes, at most ten: "'x' f32[batch,3,H,W], 'y' f32[batch]".
std::string open_inputs(const Graph& graph);

}  // namespace egret::ir

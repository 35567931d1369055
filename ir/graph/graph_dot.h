// SPDX-License-Identifier: Apache-2.0
// A graph in the DOT language of Graphviz: operators are boxes with their attributes, inputs and
// outputs ellipses, edges carry types. Deterministic.
#pragma once

#include <string>

#include "ir/graph/graph.h"

namespace egret::ir {

struct DotOptions {
  bool constants = false;  // weights as nodes of their own; otherwise they are left out
};

std::string to_dot(const Graph& graph, const DotOptions& options = {});

}  // namespace egret::ir

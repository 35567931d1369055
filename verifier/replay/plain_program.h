// SPDX-License-Identifier: Apache-2.0
// A model as certificates speak of it.
#pragma once

#include "ir/graph/graph.h"

namespace egret::verifier {

// The live part of the graph, with the bodies of opaque nodes in their place. A node without a body
// stays, as a function of which nothing is known, and so does one that means something else than
// its body in real arithmetic (ir/ops/opaque.h). Those that stay with a body keep it.
ir::Graph plain_program(const ir::Graph& graph);

}  // namespace egret::verifier

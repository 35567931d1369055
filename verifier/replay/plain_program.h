// SPDX-License-Identifier: Apache-2.0
// A model as certificates speak of it: operators with definitions, and sizes that are numbers.
#pragma once

#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::verifier {

// The live part of the graph, with the bodies of opaque nodes in their place. Errors: unsupported,
// naming the node, for one without a body and for one that means something else than its body in
// real arithmetic (ir/ops/opaque.h).
base::Result<ir::Graph> plain_program(const ir::Graph& graph);

}  // namespace egret::verifier

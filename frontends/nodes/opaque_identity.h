// SPDX-License-Identifier: Apache-2.0
// When two opaque nodes (ir/ops/opaque.h) of two models are the same function of their operands.
#pragma once

#include <string>

#include "base/status.h"
#include "frontends/nodes/opaque_nodes.h"
#include "ir/graph/graph.h"

namespace egret::onnx {
class NodeProto;
}

namespace egret::frontends {

// The node without the names that an export may change. Captured values have numbers, in the order
// in which they are operands, and names that no value within the bodies has.
onnx::NodeProto without_names(const onnx::NodeProto& node);

// Gives nodes without a body new keys. Nodes of equal meaning and name have the same key in
// all models, followed by a number that tells those of one model apart: a node may be random or
// have a state, so no two of one model are one function. In the order of the graph.
void name_by_meaning(ir::Graph& graph, OpaqueNodes& nodes);

// Whether a node of ai.onnx, with the nodes of its bodies (Loop, Scan, If), has the same form in
// both opsets and in those between. from <= to.
bool reads_alike(const onnx::NodeProto& node, int from, int to);

// Errors: mismatch with what differs; also for a tensor in another file, which is not compared.
base::Status check_same_meaning(const OpaqueNode& a, const OpaqueNode& b);

}  // namespace egret::frontends

// SPDX-License-Identifier: Apache-2.0
// Saves a tensor e-graph in a snapshot file (egraph/formats/snapshot_file.h). Besides the engine's
// sections, the "tensor.*" sections hold the meaning of its words and payloads: attributes,
// constants with their data, inputs, types and facts, the program's names, and the origins of
// nodes.
//
// A loaded e-graph behaves as the saved one; rules are compiled for it anew. All data are in the
// file, so it is as large as the weights.
#pragma once

#include <memory>

#include "base/status.h"
#include "egraph/formats/snapshot_file.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

// Adds the sections of a clean e-graph. The e-graph must not change before they are written.
void save(const TensorEGraph& tensors, egraph::SnapshotWriter& writer);

// Validated like the engine's sections. A failure names section and position.
base::Result<std::unique_ptr<TensorEGraph>> load(const egraph::SnapshotFile& file);

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// A tensor e-graph in a snapshot file (egraph/formats/snapshot_file.h): the engine's sections and,
// as "tensor.*", what its words and payloads stand for: attributes, constants with their data,
// inputs, types and facts, the program's names, and which rule made what.
//
// What is loaded goes on as what was saved: rules are compiled for it anew. Every byte of data is
// in the file, so it is as large as the weights.
#pragma once

#include <memory>

#include "base/status.h"
#include "egraph/formats/snapshot_file.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

// Adds the sections of a clean e-graph, which must not change before they are written.
void save(const TensorEGraph& tensors, egraph::SnapshotWriter& writer);

// Checked like the engine's sections; a failure names section and place.
base::Result<std::unique_ptr<TensorEGraph>> load(const egraph::SnapshotFile& file);

}  // namespace egret::rules

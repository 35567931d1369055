// SPDX-License-Identifier: Apache-2.0
// Where the programs of ranks have the inputs of a model, and where they leave its outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

// Placements by the names of inputs, weights and outputs.
using NamedPlacements = std::map<std::string, Placement>;

// Where the ranks have the inputs and outputs of the model.
struct RankInterface {
  NamedPlacements inputs;
  std::vector<Placement> outputs;  // in the model's order
};
// An input has the given placement, or the only one that its sizes allow. An output has the given
// one; "NAME.next" that of the input NAME, as which the next step reads it; others must be whole on
// every rank. Errors: mismatch for inputs and outputs that the model does not have in this order,
// or of other sizes than these placements give; unsupported where the sizes of an input allow no
// placement or several, or more than 4096 would have to be tried.
base::Result<RankInterface> interface_of(const ir::Graph& rank, const Mesh& mesh,
                                         const ir::Graph& sequential, const NamedPlacements& given);

// The placements under which a rank holds this part of the whole, copies first, and none if more
// than 4096 would have to be tried. Those along axes of one device are left out.
std::vector<Placement> fitting(const ir::TensorType& whole, const ir::TensorType& part,
                               const Mesh& mesh);

// Whether each rank holds the same under both: along an axis of one device all placements are one.
bool are_same(const Placement& a, const Placement& b, const Mesh& mesh);

}  // namespace egret::parallel

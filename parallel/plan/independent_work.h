// SPDX-License-Identifier: Apache-2.0
// The computing beside which a value may be exchanged: that of all values from which it does not
// follow, and which do not follow from it. The gradient of a weight may travel while the gradients
// of earlier layers are computed; activations between two layers of a chain may not.
#pragma once

#include <vector>

#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_egraph.h"

namespace egret::parallel {

// Seconds of a device, by class of the sequential e-graph, if the program as it came in is divided
// evenly. A value that rules added has those of a value that it is computed from or for.
// O(values^2 / 64 + nodes).
std::vector<double> independent_seconds(const PlacedEGraph& placed, const Cluster& machine);

}  // namespace egret::parallel

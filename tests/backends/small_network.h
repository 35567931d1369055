// SPDX-License-Identifier: Apache-2.0
// A graph for tests of whole plans.
#pragma once

#include "ir/graph/graph.h"

namespace egret::backends {

// Three convolutions with biases, relus, a pooling, a sum and a concatenation between them, a mean
// and a product at the end: [2, 3, 16, 14] -> [2, 700]. Weights are random constants.
ir::Graph small_network();

}  // namespace egret::backends

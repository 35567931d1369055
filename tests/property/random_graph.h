// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/random.h"
#include "ir/graph/graph.h"

namespace egret::testing_support {

// A small well-typed random graph: image or matrix inputs, then layers drawn from a list that is
// biased toward what rewrite rules look for (convolutions and products that share an input, batch
// norm after convolution, chains of reshapes, transposes, slices and concatenations, pointwise
// tails), with sizes at the edges (1, odd, padding, stride 2). Same stream, same graph.
ir::Graph random_graph(base::Random& random);

}  // namespace egret::testing_support

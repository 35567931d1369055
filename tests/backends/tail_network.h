// SPDX-License-Identifier: Apache-2.0
// Networks with pointwise operations behind a product or a convolution.
#pragma once

#include <functional>

#include "ir/graph/builder.h"
#include "ir/graph/graph.h"

namespace egret::backends {

using Tail = std::function<ir::Value(ir::GraphBuilder&, ir::Value)>;

ir::Value silu(ir::GraphBuilder& b, ir::Value x);        // x * sigmoid(x)
ir::Value hard_swish(ir::GraphBuilder& b, ir::Value x);  // x * clip(x + 3, 0, 6) / 6

// tail(x w + bias) as an input of another product, and the same of convolutions.
ir::Graph tail_network(const Tail& tail);
ir::Graph tail_image_network(const Tail& tail);

}  // namespace egret::backends

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ir/graph/graph.h"

namespace egret::backends {

// Self-attention with random weights over x [batch, 64, 2 * head], two heads, the sum with x and a
// layer norm: six products with moves, a softmax and a norm between them.
ir::Graph attention_block(std::int64_t batch, std::int64_t head);

// Attention over x [1, 64, 2 * head], two heads, of queries, keys and values that are parts of one
// product.
ir::Graph merged_attention(std::int64_t head);

// Softmax of products of x [2, 3, 40, width] with itself, by a factor and with a mask added that
// serves all heads, times x again. `shows_weights`: the softmax is an output too.
ir::Graph masked_attention(std::int64_t width, bool shows_weights);

}  // namespace egret::backends

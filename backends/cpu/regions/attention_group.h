// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that compute attention: a matrix product, pointwise operators on it, softmax of
// its rows, and a product with other matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "backends/cpu/plan/plan_builder.h"

namespace egret::backends::cpu {

inline constexpr std::size_t kMostAttentionNodes = 16;
inline constexpr std::int64_t kLeastScores = 32;  // least rows and columns of scores

// The axes of a stack of matrices before the last two.
ir::Shape batch_of(const ir::TensorType& type);

// The attention group that starts at the product `anchor`: each node is the only reader of the one
// before. A group without nodes if there is none. `only_reader` is invalid where a value has
// several readers or is visible outside.
Group attention_group(const ir::Graph& graph, ir::NodeId anchor,
                      const std::function<ir::NodeId(ir::NodeId)>& only_reader);
// Whether it is a group made by attention_group().
bool is_attention(const ir::Graph& graph, const Group& group);
// Splits into groups for separate kernels: the product with its epilogue, softmax, product.
std::vector<Group> split_attention(const Group& group);

}  // namespace egret::backends::cpu

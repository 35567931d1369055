// SPDX-License-Identifier: Apache-2.0
// Attention without a score matrix in memory: a matrix product, pointwise operators on it, softmax
// of its rows, and a product with other matrices.
//
// The kernel computes scores, softmax and product of one block of rows at a time, while the block
// lies in the cache. Keys and values of a batch element are packed once.
#pragma once

#include <functional>
#include <vector>

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"

namespace egret::backends::cpu {

// The attention group that starts at the product `anchor`: each node is the only reader of the one
// before. A group without nodes if there is none. `only_reader` is invalid where a value has
// several readers or is visible outside.
Group attention_group(const ir::Graph& graph, ir::NodeId anchor,
                      const std::function<ir::NodeId(ir::NodeId)>& only_reader);
// Whether it is a group made by attention_group().
bool is_attention(const ir::Graph& graph, const Group& group);
// Splits into groups for separate kernels: the product with its epilogue, softmax, product.
std::vector<Group> split_attention(const Group& group);

// Errors: unsupported, when the group has to be split.
base::Status make_attention_kernel(PlanBuilder& builder, const Group& group);

}  // namespace egret::backends::cpu

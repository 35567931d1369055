// SPDX-License-Identifier: Apache-2.0
// Attention: a product of matrices, pointwise operators on it, softmax of its rows, and a product
// of that with other matrices, without the scores of all rows in memory.
//
// A block of rows at a time is scored, normalized and multiplied while it lies in the cache. The
// matrices that all rows of a batch element meet (keys and values) are packed once each.
#pragma once

#include <functional>
#include <vector>

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"

namespace egret::backends::cpu {

// The group of `anchor`, a product, if what its value goes through is such a sequence, each the
// only reader of the one before; otherwise a group of no nodes. `only_reader` is invalid where
// there are several, or the value is seen outside.
Group attention_group(const ir::Graph& graph, ir::NodeId anchor,
                      const std::function<ir::NodeId(ir::NodeId)>& only_reader);
// Whether it is a group made by attention_group().
bool is_attention(const ir::Graph& graph, const Group& group);
// The parts that kernels of their own compute: the product with what follows it, softmax, product.
std::vector<Group> split_attention(const Group& group);

// Errors: unsupported, when the group has to be split.
base::Status make_attention_kernel(PlanBuilder& builder, const Group& group);

}  // namespace egret::backends::cpu

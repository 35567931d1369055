// SPDX-License-Identifier: Apache-2.0
// Which nodes one kernel computes together.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/plan/plan_builder.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

enum class Fusion : std::uint8_t { kNone, kEpilogues, kAll };

// Partitions the operators of `graph` into groups, in an order in which they can be built:
//   - attention (attention_kernel.h);
//   - a product of Egret's own kernels (row_product.h, block_product.h) with the pointwise
//     operators behind it, up to the last place at which one value of theirs is left;
//   - a kernel that takes an epilogue (kernels.def) with the chain of pointwise operators behind
//     it, each the only reader of the one before;
//   - regions of pointwise operators of one shape with a single value seen outside;
//   - regions of operators without a kernel, as backends/codegen/regions.h joins them;
//   - single nodes for the rest, and for what `fusion` leaves out of these.
std::vector<Group> find_groups(const ir::Graph& graph, Fusion fusion, Emission emission,
                               Precision precision);

// Breaks a group whose kernel could not take the whole: the anchor alone, then the chain.
std::vector<Group> split_epilogue(const Group& group);
// Every node alone.
std::vector<Group> single_nodes(const Group& group);

}  // namespace egret::backends::cpu

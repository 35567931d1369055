// SPDX-License-Identifier: Apache-2.0
// The fusion of nodes into kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/plan/plan_builder.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

enum class Fusion : std::uint8_t { kNone, kEpilogues, kAll };

// Partitions the operators of `graph` into groups, in an order of computation:
//   - attention (regions/attention_group.h);
//   - two resamplings of different axes (resize_kernel.h);
//   - a product of Egret's own kernels (row_product.h, block_product.h) with the pointwise
//     operators behind it, up to the last point where a single value is live;
//   - a kernel with a fused epilogue (kernels.def): the chain of pointwise operators behind it,
//     each the only reader of the one before;
//   - a reduction with the pointwise operators that make its input and that nothing else reads;
//   - regions of pointwise operators of one shape with a single value visible outside;
//   - regions of operators without a kernel, as backends/codegen/regions.h forms them;
//   - single nodes for the rest, and for operators that `fusion` excludes from fusion.
// `lowerings`: PreparedGraph::lowerings.
std::vector<Group> find_groups(const ir::Graph& graph, Fusion fusion, Emission emission,
                               Precision precision, std::span<const Lowering> lowerings = {});

// Breaks a group whose kernel could not take the whole: the anchor alone, then the chain.
std::vector<Group> split_epilogue(const Group& group);
// The pointwise operators, then the reduction of their value.
std::vector<Group> split_reduction(const Group& group);
// Every node alone.
std::vector<Group> single_nodes(const Group& group);

}  // namespace egret::backends::cpu

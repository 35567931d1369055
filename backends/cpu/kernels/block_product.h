// SPDX-License-Identifier: Apache-2.0
// Products of many rows with a constant matrix, by Egret's own tiles (product_tiles.h), with any
// pointwise operators behind them. These run on blocks of results in the second-level cache, while
// oneDNN's products fuse chains of certain operators only.
//
// On processors with AMX the tiles are faster than oneDNN's kernels: BERT-base on one thread takes
// 0.89 of the time at batch 1 and 0.94 at batch 8. With AVX2 alone they are where oneDNN's kernel
// reads rows that share sets of the cache: BERT-base takes 0.82 of the time. The matrix may then
// be computed, too. Other processors use oneDNN's kernels.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/kernels/product_chain.h"
#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Whether a matmul (or its fused form) is such a product on this processor in this precision.
bool is_block_product(const ir::Graph& graph, ir::NodeId id, Precision precision);
// Whether it can be, although oneDNN's kernels may be faster for it alone.
bool may_be_block_product(const ir::Graph& graph, ir::NodeId id, Precision precision);

// For a matmul. Errors: unsupported when it is not such a product, when scratch space must be
// minimal, when its input does not lie row by row, or when an operand of the chain is neither rows
// nor a single element. Only reorders have been added in that case.
base::Status make_block_product(PlanBuilder& builder, const Group& group);
// The same for several products, and for several results, where the products can be such.
base::Status make_block_product(PlanBuilder& builder, const ProductGroup& group);

}  // namespace egret::backends::cpu

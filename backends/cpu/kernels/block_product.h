// SPDX-License-Identifier: Apache-2.0
// Products of many rows with a constant matrix, by Egret's own tiles (product_tiles.h), and any
// pointwise operators behind them: these run on blocks of results that lie in the second-level
// cache, where oneDNN's products take chains of some operators only.
//
// On processors with AMX the tiles are faster than oneDNN's kernels: BERT-base on one thread takes
// 0.89 of the time at batch 1 and 0.94 at batch 8. On others oneDNN's are left.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Whether a matmul (or its fused form) is such a product on this processor in this precision.
bool is_block_product(const ir::Graph& graph, ir::NodeId id, Precision precision);

// For a matmul. Errors: unsupported when it is none, where scratch space must be least, its input
// does not lie row by row, or an operand behind it is neither rows nor an element; nothing was
// added then but reorders.
base::Status make_block_product(PlanBuilder& builder, const Group& group);

}  // namespace egret::backends::cpu

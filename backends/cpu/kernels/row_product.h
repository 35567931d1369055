// SPDX-License-Identifier: Apache-2.0
// Products of a few rows with constant weights: matmul of up to 8 rows, and convolution of so many
// images by one window that covers them (a fully connected layer, the gates of squeeze and
// excitation).
//
// Each weight is used once a row, so the product is bound by reading the weights. They are packed
// in panels of 64 columns, row after row, and streamed. A chain of pointwise operators behind the
// product runs on each block of results.
#pragma once

#include "backends/cpu/kernels/product_chain.h"
#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Whether the shapes of a matmul or convolution (or its fused form) are those of a few rows.
bool is_row_product(const ir::Graph& graph, ir::NodeId id);

// For a conv or matmul. Errors: unsupported when it is not such a product, when the weights are
// computed at run time, or when operands of the chain are neither rows nor single elements. Only
// reorders of inputs have been added in that case.
base::Status make_row_product(PlanBuilder& builder, const Group& group);
// The same for several products, and for several results.
base::Status make_row_product(PlanBuilder& builder, const ProductGroup& group);

}  // namespace egret::backends::cpu

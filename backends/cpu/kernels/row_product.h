// SPDX-License-Identifier: Apache-2.0
// Products of a few rows with constant weights: matmul of up to 8 rows, and convolution of so many
// images by one window that covers them (a fully connected layer, the gates of squeeze and
// excitation).
//
// Each weight is used once a row, so that reading them is most of the work: they are packed in
// panels of 64 columns, one row behind the other, and streamed. A chain of pointwise operators
// behind the product runs on each block of results.
#pragma once

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Whether the shapes of a matmul or convolution (or its fused form) are those of a few rows.
bool is_row_product(const ir::Graph& graph, ir::NodeId id);

// For a conv or matmul. Errors: unsupported when it is no such product, the weights are computed at
// run time or the chain's operands are neither rows nor single elements; nothing was added then but
// reorders of inputs.
base::Status make_row_product(PlanBuilder& builder, const Group& group);

}  // namespace egret::backends::cpu

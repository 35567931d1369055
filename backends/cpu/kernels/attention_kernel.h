// SPDX-License-Identifier: Apache-2.0
// Attention without a score matrix in memory: a matrix product, pointwise operators on it, softmax
// of its rows, and a product with other matrices.
//
// The kernel computes scores, softmax and product of one block of rows at a time, while the block
// lies in the cache. Keys and values of a batch element are packed once.
#pragma once

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"

namespace egret::backends::cpu {

// Errors: unsupported, when the group has to be split.
base::Status make_attention_kernel(PlanBuilder& builder, const Group& group);

}  // namespace egret::backends::cpu

// SPDX-License-Identifier: Apache-2.0
// Products of one row with a computed matrix that lies transposed: the scores of one query with the
// keys of a cache. Each column of the matrix is contiguous, so each result is a dot product of two
// runs of memory.
//
// Each key is used once, so reading the keys bounds the time. A chain of pointwise operators behind
// the product runs on each block of results.
#pragma once

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"

namespace egret::backends::cpu {

// For a matmul. Errors: unsupported where it is not such a product, where the matrix is constant or
// lies otherwise, and where the chain is not ProductChain's. Only reorders of inputs have been
// added in that case.
base::Status make_key_product(PlanBuilder& builder, const Group& group);

}  // namespace egret::backends::cpu

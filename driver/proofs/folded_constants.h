// SPDX-License-Identifier: Apache-2.0
// Constants that another program folded: it computed them from others, and rounded.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

// Merges a class that holds a stored constant with each class whose constant term computes the same
// up to `relative` times its largest element. Returns how many were merged; the e-graph is then
// rebuilt. Classes that would need more than 1 GiB in all are left out. O(constant nodes) evaluated
// operators. Errors: those of the interpreter and of rebuilding.
base::Result<std::int64_t> merge_folded_constants(rules::TensorEGraph& tensors, double relative);

}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
// Elementwise operators: an output element is one function of the operands' elements at its own
// place, with NumPy broadcasting, and of nothing else.
#pragma once

#include <span>

#include "ir/core/dtype.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// Whether the operator is elementwise with these attributes on operands of these element types.
// Decided by its definition, or its body's definitions, on operands of equal ranks 0 to 3, and of
// rank 2 with one operand of rank 0 or 1 or of sizes 1: each reads its operands at the broadcast
// place alone, and all compute the same function. An operator may refuse unequal ranks. That the
// definition does not distinguish ranks above 3 is trusted. Costs some 20 to 200 microseconds.
bool is_elementwise(const Operator& op, const Attrs& attrs, std::span<const DType> dtypes);

}  // namespace egret::ir

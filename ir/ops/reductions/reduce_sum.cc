// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {

Operator reduce_sum() {
  return reduction_operator("reduce_sum", "Sum over axes", {"ReduceSum", ""},
                            {.reduction = Reduction::kSum});
}

}  // namespace egret::ir::ops

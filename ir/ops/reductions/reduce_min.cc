// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {

Operator reduce_min() {
  return reduction_operator("reduce_min", "Minimum over axes", {"ReduceMin", ""},
                            {.reduction = Reduction::kMin, .needs_element = true});
}

}  // namespace egret::ir::ops

// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {

Operator reduce_max() {
  return reduction_operator("reduce_max", "Maximum over axes", {"ReduceMax", "GlobalMaxPool"},
                            {.reduction = Reduction::kMax, .needs_element = true});
}

}  // namespace egret::ir::ops

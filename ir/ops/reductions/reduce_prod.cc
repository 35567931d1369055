// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {

Operator reduce_prod() {
  return reduction_operator("reduce_prod", "Product over axes", {"ReduceProd", ""},
                            {.reduction = Reduction::kProd});
}

}  // namespace egret::ir::ops

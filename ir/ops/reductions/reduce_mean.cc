// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {

Operator reduce_mean() {
  return reduction_operator("reduce_mean", "Mean over axes", {"ReduceMean", "GlobalAveragePool"},
                            {.reduction = Reduction::kSum,
                             .finish = [](Scalar sum, Scalar count) { return sum / count; },
                             .needs_element = true});
}

}  // namespace egret::ir::ops

// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/arg_reduction_definition.h"

namespace egret::ir::ops {

Operator arg_max() {
  return arg_reduction_operator("arg_max", "The position of the maximum along an axis, as i64",
                                "ArgMax", Reduction::kMax);
}

}  // namespace egret::ir::ops

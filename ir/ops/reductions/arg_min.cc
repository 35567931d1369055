// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/arg_reduction_definition.h"

namespace egret::ir::ops {

Operator arg_min() {
  return arg_reduction_operator("arg_min", "The position of the minimum along an axis, as i64",
                                "ArgMin", Reduction::kMin);
}

}  // namespace egret::ir::ops

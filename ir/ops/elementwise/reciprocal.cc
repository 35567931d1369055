// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator reciprocal() {
  return float_operator("reciprocal", "1 / x", "Reciprocal", 1,
                        [](Scalar x) { return Scalar(1) / x; });
}

}  // namespace egret::ir::ops

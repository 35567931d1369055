// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator sigmoid() {
  return float_operator("sigmoid", "1 / (1 + exp(-x))", "Sigmoid", 1,
                        [](Scalar x) { return logistic(x); });
}

}  // namespace egret::ir::ops

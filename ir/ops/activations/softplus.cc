// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator softplus() {
  return float_operator("softplus", "log(1 + exp(x))", "Softplus", 1, [](Scalar x) {
    // The same number as in the definition, without overflow for large x.
    return max(x, 0) + call(Function::kLog, {call(Function::kExp, {-magnitude(x)}) + 1});
  });
}

}  // namespace egret::ir::ops

// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator softsign() {
  return float_operator("softsign", "x / (1 + |x|)", "Softsign", 1,
                        [](Scalar x) { return x / (magnitude(x) + 1); });
}

}  // namespace egret::ir::ops

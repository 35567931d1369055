// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator floor_() {
  return function_operator(Function::kFloor, "floor", "The largest integer not above x", "Floor");
}

}  // namespace egret::ir::ops

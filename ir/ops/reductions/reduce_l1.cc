// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) { return b("reduce_sum", {b("abs", {b.input(0)})}, b.attrs()); }

}  // namespace

Operator reduce_l1() {
  return reduction_composite("reduce_l1", "Sum of magnitudes over axes", {"ReduceL1", ""}, build);
}

}  // namespace egret::ir::ops

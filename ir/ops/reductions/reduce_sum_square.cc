// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) { return b("reduce_sum", {b("mul", {b.input(0), b.input(0)})}, b.attrs()); }

}  // namespace

Operator reduce_sum_square() {
  return reduction_composite("reduce_sum_square", "Sum of squares over axes",
                             {"ReduceSumSquare", ""}, build);
}

}  // namespace egret::ir::ops

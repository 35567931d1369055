// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) { return b("sqrt", {b("reduce_sum_square", {b.input(0)}, b.attrs())}); }

}  // namespace

Operator reduce_l2() {
  return reduction_composite("reduce_l2", "Euclidean norm over axes", {"ReduceL2", ""}, build);
}

}  // namespace egret::ir::ops

// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) { return b("log", {b("reduce_sum", {b.input(0)}, b.attrs())}); }

}  // namespace

Operator reduce_log_sum() {
  return reduction_composite("reduce_log_sum", "Logarithm of the sum over axes",
                             {"ReduceLogSum", ""}, build);
}

}  // namespace egret::ir::ops

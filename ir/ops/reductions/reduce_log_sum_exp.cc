// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

// Shifted by the maximum, so that exp() does not overflow.
Value build(Body& b) {
  const Value x = b.input(0);
  const Value top = b("reduce_max", {x}, reduction_attrs(b.axes("axes"), true));
  const Value sum = b("reduce_sum", {b("exp", {b("sub", {x, top})})}, b.attrs());
  return b("add", {b("log", {sum}), b("reduce_max", {x}, b.attrs())});
}

}  // namespace

Operator reduce_log_sum_exp() {
  return reduction_composite("reduce_log_sum_exp", "Logarithm of the sum of exponentials over axes",
                             {"ReduceLogSumExp", ""}, build);
}

}  // namespace egret::ir::ops

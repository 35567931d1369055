// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) { return b("mul", {b.input(0), b("sigmoid", {b.input(0)})}); }

}  // namespace

Operator silu() {
  return composite("silu", "x * sigmoid(x), also called swish", {"x"}).with_body(build);
}

}  // namespace egret::ir::ops

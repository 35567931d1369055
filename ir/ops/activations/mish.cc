// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Value x = b.input(0);
  return b("mul", {x, b("tanh", {b("softplus", {x})})});
}

}  // namespace

Operator mish() {
  return composite("mish", "x * tanh(softplus(x))", {"x"}).with_body(build).onnx("Mish", 18);
}

}  // namespace egret::ir::ops

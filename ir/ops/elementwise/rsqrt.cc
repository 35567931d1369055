// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) { return b("reciprocal", {b("sqrt", {b.input(0)})}); }

}  // namespace

Operator rsqrt() { return composite("rsqrt", "1 / sqrt(x)", {"x"}).with_body(build); }

}  // namespace egret::ir::ops

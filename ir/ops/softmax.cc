// SPDX-License-Identifier: Apache-2.0
#include "ir/body.h"
#include "ir/operator.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Value x = b.input(0);
  const Attrs over{{"axes", Integers{b.integer("axis")}}, {"keepdims", std::int64_t{1}}};
  const Value shifted = b("sub", {x, b("reduce_max", {x}, over)});
  const Value e = b("exp", {shifted});
  return b("div", {e, b("reduce_sum", {e}, over)});
}

}  // namespace

Operator softmax() {
  return composite("softmax", "exp(x) normalized to sum 1 along an axis", {"x"})
      .attr("axis", AttrKind::kInteger, "the normalized axis")
      .with_body(build);
}

}  // namespace egret::ir::ops

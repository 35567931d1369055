// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/topk_binding.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Value x = b.input(0);
  return b("gather_elements", {x, b("topk_indices", {x}, b.attrs())}, {{"axis", b.axis("axis")}});
}

}  // namespace

Operator topk_values() {
  return composite("topk_values", "The k largest elements along an axis, largest first", {"x"})
      .attr("axis", AttrKind::kInteger, "the axis")
      .attr("k", AttrKind::kInteger, "how many")
      .attr("largest", std::int64_t{1}, "0: the smallest, smallest first")
      .shown_on({"f32[M,8]"}, {{"axis", std::int64_t{1}}, {"k", std::int64_t{2}}})
      .with_body(build)
      .onnx_export(topk_export(0), 10);
}

}  // namespace egret::ir::ops

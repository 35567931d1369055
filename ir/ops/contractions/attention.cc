// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "ir/graph/body.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Value q = b.input(0);
  const Value k = b.input(1);
  const int rank = b.rank(1);
  if (b.rank(0) < 2 || rank < 2) return b.fail("queries and keys are [.., sequence, width]");
  Integers perm(static_cast<std::size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  Value scores = b("matmul", {q, b("transpose", {k}, {{"perm", perm}})});
  if (b.real("scale") != 1) {
    scores = b("mul", {scores, b.scalar(b.dtype(0), b.real("scale"))});
  }
  if (b.input_count() > 3) scores = b("add", {scores, b.input(3)});
  if (b.flag("causal")) scores = b("causal_mask", {scores});
  const std::int64_t last = b.type(scores).rank() - 1;
  return b("matmul", {b("softmax", {scores}, {{"axis", last}}), b.input(2)});
}

}  // namespace

// Exported as its body: ONNX has an operator for it from opset 23 on only.
Operator attention() {
  return composite("attention",
                   "softmax(q k^T * scale + mask) v over tensors [.., sequence, width]",
                   {"q", "k", "v", "mask"})
      .optional_inputs(1)
      .attr("scale", AttrKind::kReal, "factor of the scores, mostly 1 / sqrt(width)")
      .attr("causal", std::int64_t{0}, "1 hides keys that come after the query")
      .shown_on({"f32[B,S,D]", "f32[B,T,D]", "f32[B,T,D]"}, {{"scale", 0.125}})
      .with_body(build);
}

}  // namespace egret::ir::ops

// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

// The window over channels reaches (size - 1) div 2 back and the rest of size forward.
void define(Definition& d) {
  if (!d.require_rank_at_least(0, 2)) return;
  const Index size = d.size("size");
  if (!d.require(size >= 1, "size must be positive")) return;
  const auto out = d.output(d.dtype(0), d.dims(0));
  if (!d.ok()) return;
  const auto channel = [&](Index r) { return out[1] + r - div(size - 1, 2); };
  const Scalar squares = d.sum(
      size,
      [&](Index r) {
        std::vector<Index> at(out.begin(), out.end());
        at[1] = channel(r);
        const Scalar x = d.read(0, at);
        return x * x;
      },
      [&](Index r) { return within(0, channel(r), d.dim(0, 1)); });
  const Scalar base = Scalar(d.real("bias")) + Scalar(d.real("alpha")) / scalar_of(size) * squares;
  d.value(d.read(0, out) / call(Function::kPow, {base, d.real("beta")}));
}

}  // namespace

Operator lrn() {
  return primitive("lrn",
                   "Local response normalization: x / (bias + alpha/size * sum of squares over "
                   "neighbouring channels)^beta",
                   {"x"})
      .attr("size", AttrKind::kInteger, "how many channels the sum takes in")
      .attr("alpha", double{1e-4F}, "weight of the squares")
      .attr("beta", 0.75, "the exponent")
      .attr("bias", 1.0, "keeps the base away from 0")
      .shown_on({"f32[N,C,H,W]"}, {{"size", std::int64_t{5}}})
      .defined_by(define)
      .onnx("LRN");
}

}  // namespace egret::ir::ops

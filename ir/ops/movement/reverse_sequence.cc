// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

//   out[.., t, .., b, ..] = x[.., t < length[b] ? length[b] - 1 - t : t, .., b, ..]
void define(Definition& d) {
  const std::int64_t time = d.axis("time_axis", d.rank(0));
  const std::int64_t batch = d.axis("batch_axis", d.rank(0));
  if (!d.require_axis(time, d.rank(0)) || !d.require_axis(batch, d.rank(0)) ||
      !d.require(time != batch, "time_axis and batch_axis must differ") || !d.require_rank(1, 1) ||
      !d.require_dtype(1, is_integer(d.dtype(1)), "of integers") ||
      !d.require(d.dim(1, 0) == d.dim(0, static_cast<int>(batch)),
                 "there must be one length for each of the batch")) {
    return;
  }
  const auto out = d.output(d.dtype(0), d.dims(0));
  const Index t = out[static_cast<std::size_t>(time)];
  const Index length = index_of(d.read(1, {out[static_cast<std::size_t>(batch)]}));
  std::vector<Index> mirrored = out;
  mirrored[static_cast<std::size_t>(time)] = length - 1 - t;
  d.value(select(t < length, d.read(0, mirrored), d.read(0, out)));
}

}  // namespace

Operator reverse_sequence() {
  return primitive("reverse_sequence",
                   "The first length[b] elements along the time axis in opposite order, for each b "
                   "of the batch axis; the rest stays",
                   {"x", "lengths"})
      .attr("time_axis", std::int64_t{0}, "the axis that is reversed")
      .attr("batch_axis", std::int64_t{1}, "the axis that has a length for each of its elements")
      .shown_on({"f32[T,B]", "i64[B]"})
      .defined_by(define)
      .onnx("ReverseSequence", 10);
}

}  // namespace egret::ir::ops

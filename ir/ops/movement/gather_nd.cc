// SPDX-License-Identifier: Apache-2.0
#include "ir/core/index_arithmetic.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

//   out[b.., j.., r..] = x[b.., indices[b.., j.., 0], indices[b.., j.., 1], .., r..]
// with batch_dims axes b; the last axis of indices, of known size, holds the index.
void define(Definition& d) {
  const std::int64_t batch = d.integer("batch_dims");
  if (!d.require_rank_at_least(0, 1) || !d.require_rank_at_least(1, 1) ||
      !d.require_dtype(1, is_integer(d.dtype(1)), "of integers")) {
    return;
  }
  const int last = d.rank(1) - 1;
  const Index depth = concrete_index(d.dim(1, last));
  if (!d.require(depth.is_constant(), "the last axis of indices must have a known size") ||
      !d.require(batch >= 0 && batch <= last && batch <= d.rank(0), "batch_dims is out of range") ||
      !d.require(depth.constant() <= d.rank(0) - batch,
                 "indices have more parts than x has axes")) {
    return;
  }
  Dims dims;
  for (int k = 0; k < last; ++k) {
    dims.push_back(d.dim(1, k));
    if (k < batch) d.require(d.dim(0, k) == d.dim(1, k), "batch sizes differ");
  }
  const int indexed = static_cast<int>(batch + depth.constant());
  for (int k = indexed; k < d.rank(0); ++k) dims.push_back(d.dim(0, k));

  const auto out = d.output(d.dtype(0), dims);
  if (!d.ok()) return;
  std::vector<Index> at(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(batch));
  std::vector<Index> place(out.begin(), out.begin() + last);
  place.emplace_back(0);
  for (int k = static_cast<int>(batch); k < indexed; ++k) {
    place.back() = k - batch;
    at.push_back(wrapped_index(d.read(1, place), d.dim(0, k)));
  }
  at.insert(at.end(), out.begin() + last, out.end());
  d.value(d.read(0, at));
}

base::Status write(OnnxWriter& writer) {
  const bool batched = writer.attrs().integer("batch_dims") != 0;
  std::vector<OnnxWriter::Attribute> attributes;
  if (batched) attributes.push_back({"batch_dims", writer.attrs().integer("batch_dims")});
  writer.emit("GatherND", {writer.input(0), writer.input(1)}, std::move(attributes));
  return base::ok();
}

}  // namespace

Operator gather_nd() {
  return primitive("gather_nd",
                   "Slices of x at index tuples, which the last axis of indices holds; an index "
                   "counts modulo the size of its axis",
                   {"x", "indices"})
      .attr("batch_dims", std::int64_t{0}, "leading axes that x and indices share")
      .shown_on({"f32[M,N,K]", "i64[B,2]"})
      .defined_by(define)
      .onnx("GatherND")
      .onnx_export(write, 12);
}

}  // namespace egret::ir::ops

// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

//   out[i..] = y[i - start ..] where that is in y, x[i..] elsewhere
void define(Definition& d) {
  const std::vector<Index> start = d.sizes("start");
  const auto rank = static_cast<std::size_t>(d.rank(0));
  if (!d.require_same_dtype() || !d.require_rank(1, d.rank(0))) return;
  if (start.size() != rank) {
    d.fail("start takes one number an axis");
    return;
  }
  for (std::size_t k = 0; k < rank; ++k) {
    const int axis = static_cast<int>(k);
    d.require(start[k] >= 0 && start[k] + d.dim(1, axis) <= d.dim(0, axis),
              "the patch leaves axis " + std::to_string(k));
  }
  const std::vector<Index> out = d.output(d.dtype(0), d.dims(0));
  if (!d.ok()) return;
  std::vector<Index> at;
  Guard inside = true;
  for (std::size_t k = 0; k < rank; ++k) {
    const Index size = d.dim(1, static_cast<int>(k));
    const bool whole = size.same(d.dim(0, static_cast<int>(k)));
    at.push_back(whole ? out[k] : out[k] - start[k]);
    if (!whole) inside = inside && within(0, at.back(), size);
  }
  d.value(select(inside, d.read(1, at), d.read(0, out)));
}

// ONNX gets a choice by a constant mask between x and y, padded to its size.
base::Status write(OnnxWriter& writer) {
  const TensorType& out = writer.output_type();
  const TensorType& patch = writer.input_type(1);
  if (!out.is_concrete() || !patch.is_concrete())
    return base::unsupported("export of patch over symbolic sizes; bind them (--bind)");
  const Integers& start = writer.attrs().integers("start");
  Integers pads = start;
  for (std::size_t k = 0; k < start.size(); ++k)
    pads.push_back(out.dims[k].constant() - patch.dims[k].constant() - start[k]);
  Tensor mask(DType::kBool, out.shape());
  for (std::int64_t i = 0; i < mask.elements(); ++i) {
    bool inside = true;
    std::int64_t rest = i;
    for (std::size_t k = start.size(); k-- > 0;) {
      const std::int64_t at = rest % out.dims[k].constant() - start[k];
      rest /= out.dims[k].constant();
      inside = inside && at >= 0 && at < patch.dims[k].constant();
    }
    mask.set_i64(i, inside ? 1 : 0);
  }
  const std::string padded = writer.emit("Pad", {writer.input(1), writer.constant_integers(pads)});
  writer.emit("Where", {writer.constant(mask), padded, writer.input(0)});
  return base::ok();
}

}  // namespace

Operator patch() {
  return primitive("patch", "x with the box of y's shape at `start` replaced by y", {"x", "y"})
      .attr("start", AttrKind::kIntegers, "where y begins, for each axis")
      .shown_on({"f32[M,N]", "f32[K,N]"}, {{"start", Integers{1, 0}}})
      .defined_by(define)
      .onnx_export(write, 11);
}

}  // namespace egret::ir::ops

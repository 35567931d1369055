// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const std::vector<Index> repeats = d.sizes("repeats");
  if (repeats.size() != static_cast<std::size_t>(d.rank(0))) {
    d.fail("repeats takes one number an axis");
    return;
  }
  Dims dims;
  for (std::size_t k = 0; k < repeats.size(); ++k) {
    d.require(repeats[k] >= 0, "repeats must not be negative");
    dims.push_back(d.dim(0, static_cast<int>(k)) * repeats[k]);
  }
  std::vector<Index> at = d.output(d.dtype(0), dims);
  for (std::size_t k = 0; k < repeats.size(); ++k) {
    const Index size = d.dim(0, static_cast<int>(k));
    if (!dims[k].same(size)) at[k] = mod(at[k], size);
  }
  d.value(d.read(0, at));
}

OnnxOutputs import(OnnxNode& node) {
  const Value x = node.input(0);
  EGRET_ASSIGN_OR_RETURN(const Integers repeats, required_size_integers(node, 1, "repeats"));
  if (std::ranges::all_of(repeats, [](std::int64_t n) { return n == 1; })) return only_output(x);
  return only_output(node.builder().add("tile", {x}, {{"repeats", repeats}}));
}

base::Status write(OnnxWriter& writer) {
  writer.emit("Tile",
              {writer.input(0), writer.constant_integers(writer.attrs().as_written("repeats"))});
  return base::ok();
}

}  // namespace

Operator tile() {
  return primitive("tile", "The input repeated whole along each axis", {"x"})
      .attr("repeats", AttrKind::kIntegers, "how many times, one number an axis")
      .shown_on({"f32[M,N]"}, {{"repeats", Integers{1, 3}}})
      .defined_by(define)
      .onnx_import("Tile", import)
      .onnx_export(write);
}

}  // namespace egret::ir::ops

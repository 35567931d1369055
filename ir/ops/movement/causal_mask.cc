// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

void define(Definition& d) {
  if (!require_float(d) || !d.require_rank_at_least(0, 2)) return;
  const auto out = d.output(d.dtype(0), d.dims(0));
  if (!d.ok()) return;
  d.value(select(out[out.size() - 1] <= out[out.size() - 2], d.read(0, out), kHidden));
}

// ONNX gets the mask as a constant that is added.
base::Status write(OnnxWriter& writer) {
  const TensorType& type = writer.output_type();
  const Index rows = type.dims[type.dims.size() - 2];
  const Index columns = type.dims[type.dims.size() - 1];
  if (!rows.is_constant() || !columns.is_constant()) {
    return base::unsupported("export of causal_mask over symbolic sizes; bind them (--bind)");
  }
  Tensor mask(type.dtype, Integers{rows.constant(), columns.constant()});
  for (std::int64_t i = 0; i < rows.constant(); ++i) {
    for (std::int64_t j = i + 1; j < columns.constant(); ++j) {
      mask.set_f64(i * columns.constant() + j, kHidden);
    }
  }
  writer.emit("Add", {writer.input(0), writer.constant(mask)});
  return base::ok();
}

}  // namespace

Operator causal_mask() {
  return primitive("causal_mask",
                   "Attention scores [.., query, key] with minus infinity where key > query", {"x"})
      .shown_on({"f32[B,S,T]"})
      .defined_by(define)
      .onnx_export(write, 7);
}

}  // namespace egret::ir::ops

// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  if (!d.require_rank_at_least(0, 2)) return;
  const auto out = d.output(d.dtype(0), d.dims(0));
  const Index row = out[out.size() - 2];
  const Index column = out[out.size() - 1];
  const Index diagonal = row + d.size("k");
  const Guard kept = d.flag("upper") ? column >= diagonal : column <= diagonal;
  d.value(select(kept, d.read(0, out), 0));
}

OnnxOutputs import(OnnxNode& node) {
  EGRET_ASSIGN_OR_RETURN(const auto k, integers_argument(node, 1, "k"));
  if (k && k->size() != 1) return base::bad_input("k must be one number");
  return only_output(node.builder().add(
      "trilu", {node.input(0)},
      {{"upper", node.integer("upper", 1)}, {"k", k ? k->front() : std::int64_t{0}}}));
}

base::Status write(OnnxWriter& writer) {
  writer.emit(
      "Trilu",
      {writer.input(0), writer.constant(Tensor::scalar(
                            DType::kI64, static_cast<double>(writer.attrs().integer("k"))))},
      {{"upper", writer.attrs().integer("upper")}});
  return base::ok();
}

}  // namespace

Operator trilu() {
  return primitive("trilu", "The upper or lower triangle of matrices; 0 elsewhere", {"x"})
      .attr("upper", std::int64_t{1}, "1 keeps what is on and above the diagonal, 0 on and below")
      .attr("k", std::int64_t{0}, "the diagonal: 0 the main one, positive above it")
      .defined_by(define)
      .onnx_import("Trilu", import)
      .onnx_export(write, 14);
}

}  // namespace egret::ir::ops

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const std::optional<DType> dtype = parse_dtype(d.text("dtype"));
  if (!dtype) {
    d.fail("there is no element type '" + d.text("dtype") + "'");
    return;
  }
  const auto out = d.output(*dtype, {d.size("size")});
  d.value(Scalar(d.real("start")) + Scalar(d.real("step")) * scalar_of(out[0]));
}

// The number of elements of a range with open bounds: max(0, ceil((limit - start) / delta)).
Index open_count(const SizeRatio& start, const SizeRatio& limit, const SizeRatio& delta) {
  const std::int64_t step = delta.over.constant();
  const std::int64_t sign = step < 0 ? -1 : 1;
  const Index room = (limit.over * start.under - start.over * limit.under) * (delta.under * sign);
  const Index count = ceil_div(room, Index(start.under) * limit.under * (step * sign));
  return decided(room >= 0).value_or(false) ? count : max(0, count);
}

// Range(start, limit, delta) with bounds that depend on open sizes, and a constant delta. An open
// start is added.
std::optional<Value> open_range(OnnxNode& node) {
  if (SymbolicScope::current() == nullptr || node.input_count() < 3) return std::nullopt;
  SizeRatio bounds[3];
  bool open = false;
  for (int i = 0; i < 3; ++i) {
    const auto given = node.size_ratios(i);
    if (!given || given->size() != 1) return std::nullopt;
    bounds[i] = given->front();
    open = open || !bounds[i].over.is_constant();
  }
  const auto& [start, limit, delta] = bounds;
  if (!open || !delta.over.is_constant() || delta.over.constant() == 0) return std::nullopt;
  const auto size = open_integer(open_count(start, limit, delta));
  if (!size) return std::nullopt;
  const auto number = [](const SizeRatio& ratio) {
    return static_cast<double>(ratio.over.constant()) / static_cast<double>(ratio.under);
  };
  const bool starts_open = !start.over.is_constant();
  const DType dtype = node.type(node.input(0)).dtype;
  const Value steps = node.builder().add("iota", std::span<const Value>{},
                                         {{"size", *size},
                                          {"start", starts_open ? 0 : number(start)},
                                          {"step", number(delta)},
                                          {"dtype", std::string(to_string(dtype))}});
  return starts_open ? node.builder().add("add", {steps, node.input(0)}) : steps;
}

// Range(start, limit, delta) has max(0, ceil((limit - start) / delta)) elements.
OnnxOutputs import(OnnxNode& node) {
  if (auto open = open_range(node)) return only_output(*open);
  double bounds[3] = {};
  for (int i = 0; i < 3; ++i) {
    EGRET_ASSIGN_OR_RETURN(const auto bound, constant_argument(node, i, "bound"));
    if (!bound || bound->elements() != 1) return base::bad_input("bounds must be one number each");
    bounds[i] = bound->f64_at(0);
    if (!(std::abs(bounds[i]) <= 0x1p53)) return base::unsupported("a bound beyond 2^53");
  }
  const auto [start, limit, delta] = bounds;
  if (delta == 0) return base::bad_input("delta must not be 0");
  const double size = std::max(0.0, std::ceil((limit - start) / delta));
  if (size > 0x1p53) return base::bad_input("too many elements");
  return only_output(
      node.builder().add("iota", std::span<const Value>{},
                         {{"size", static_cast<std::int64_t>(size)},
                          {"start", start},
                          {"step", delta},
                          {"dtype", std::string(to_string(node.type(node.input(0)).dtype))}}));
}

// 0, 1, .. up to an open size; then the step and the start.
base::Status write_open(OnnxWriter& writer) {
  const DType dtype = writer.output_type().dtype;
  const auto scalar = [&](double value) {
    return writer.constant(Tensor::scalar(DType::kI64, value));
  };
  const std::string size = writer.emit(
      "Reshape", {writer.constant_integers({open_integer(writer.attrs().size("size")).value_or(0)}),
                  writer.constant_integers({})});
  std::string value = writer.emit("Range", {scalar(0), size, scalar(1)});
  if (dtype != DType::kI64) value = writer.emit("Cast", {value}, {{"to", onnx_code(dtype)}});
  const auto number = [&](const char* name) {
    return writer.constant(Tensor::scalar(dtype, writer.attrs().real(name)));
  };
  if (writer.attrs().real("step") != 1) value = writer.emit("Mul", {value, number("step")});
  if (writer.attrs().real("start") != 0) writer.emit("Add", {value, number("start")});
  return base::ok();
}

base::Status write(OnnxWriter& writer) {
  if (!writer.attrs().size("size").is_constant()) return write_open(writer);
  const DType dtype = writer.output_type().dtype;
  const double start = writer.attrs().real("start");
  const double step = writer.attrs().real("step");
  const double size = static_cast<double>(writer.attrs().integer("size"));
  const bool in_range = dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kI16 ||
                        dtype == DType::kI32 || dtype == DType::kI64;
  const DType computed = in_range ? dtype : is_float(dtype) ? DType::kF32 : DType::kI64;
  // For reals the limit is half a step short, so that rounding does not add an element.
  const double limit = is_float(computed) ? start + (size - 0.5) * step : start + size * step;
  const auto bound = [&](double value) { return writer.constant(Tensor::scalar(computed, value)); };
  const std::string range = writer.emit("Range", {bound(start), bound(limit), bound(step)});
  if (!in_range) writer.emit("Cast", {range}, {{"to", onnx_code(dtype)}});
  return base::ok();
}

}  // namespace

Operator iota() {
  return primitive("iota", "start + i*step", {})
      .attr("size", AttrKind::kInteger, "number of elements")
      .attr("start", 0.0, "the first element")
      .attr("step", 1.0, "difference of neighbours")
      .attr("dtype", AttrKind::kText, "element type, such as f32 or i64")
      .shown_on({}, {{"size", std::int64_t{5}}, {"start", 1.0}, {"dtype", std::string("f32")}})
      .defined_by(define)
      .onnx_import("Range", import)
      .onnx_export(write, 11);
}

}  // namespace egret::ir::ops

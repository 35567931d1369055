// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/tensor_steps.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::autodiff {
namespace {

Integers integers_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// Zeros before and after along one axis.
Value padded(GraphBuilder& b, Value x, int axis, std::int64_t before, std::int64_t after) {
  if (before == 0 && after == 0) return x;
  const auto rank = static_cast<std::size_t>(b.type(x).rank());
  Integers first(rank, 0);
  Integers last(rank, 0);
  first[static_cast<std::size_t>(axis)] = before;
  last[static_cast<std::size_t>(axis)] = after;
  return b.add("pad", {x}, {{"mode", std::string("constant")}, {"before", first}, {"after", last}});
}

}  // namespace

Shape shape_of(const GraphBuilder& b, Value x) {
  EGRET_CHECK(x.valid(), "a gradient could not be written down");
  return b.type(x).shape();
}

Value reshaped(GraphBuilder& b, Value x, const Shape& to) {
  static const Operator& reshape = get_operator("reshape");
  if (!x.valid() || std::ranges::equal(shape_of(b, x), to)) return x;
  while (b.graph().node(x.id).op == &reshape) {  // of a reshaped tensor: of the tensor itself
    x = {b.graph().node(x.id).inputs[0]};
    if (std::ranges::equal(shape_of(b, x), to)) return x;
  }
  return b.add("reshape", {x}, {{"shape", integers_of(to)}});
}

Value transposed(GraphBuilder& b, Value x, const std::vector<int>& perm) {
  if (!x.valid() || std::ranges::is_sorted(perm)) return x;
  return b.add("transpose", {x}, {{"perm", Integers(perm.begin(), perm.end())}});
}

Value sliced(GraphBuilder& b, Value x, int axis, std::int64_t start, std::int64_t size,
             std::int64_t step) {
  if (!x.valid()) return x;
  const std::int64_t length = shape_of(b, x)[static_cast<std::size_t>(axis)];
  if (start == 0 && size == length && step == 1) return x;
  if (step == -1 && size == length) return reversed(b, x, axis);
  return b.add("slice", {x},
               {{"axis", std::int64_t{axis}},
                {"start", start},
                {"size", size},
                {"step", size <= 1 ? std::int64_t{1} : step}});
}

// The adjoint of sliced(): puts the elements at start, start + step, .. of an axis of zeros.
Value unsliced(GraphBuilder& b, Value x, int axis, std::int64_t start, std::int64_t step,
               std::int64_t size) {
  if (!x.valid()) return x;
  Shape shape = shape_of(b, x);
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t count = shape[at];
  if (count == 0) {
    shape[at] = size;
    return zeros(b, b.type(x).dtype, shape);
  }
  // A negative step is a positive one on the reversed axis.
  if (step < 0) {
    x = reversed(b, x, axis);
    start += step * (count - 1);
    step = -step;
  }
  if (step > 1 && count > 1) {  // each element with step-1 zeros after it
    shape.insert(shape.begin() + axis + 1, 1);
    x = padded(b, reshaped(b, x, shape), axis + 1, 0, step - 1);
    shape.erase(shape.begin() + axis + 1);
    shape[at] = count * step;
    x = sliced(b, reshaped(b, x, shape), axis, 0, (count - 1) * step + 1);
    count = (count - 1) * step + 1;
  }
  return padded(b, x, axis, start, size - start - count);
}

Value reversed(GraphBuilder& b, Value x, int axis) {
  if (!x.valid() || shape_of(b, x)[static_cast<std::size_t>(axis)] <= 1) return x;
  return b.add("reverse", {x}, {{"axis", std::int64_t{axis}}});
}

Value broadcast_to(GraphBuilder& b, Value x, const Shape& to) {
  if (!x.valid() || std::ranges::equal(shape_of(b, x), to)) return x;
  return b.add("broadcast", {x}, {{"shape", integers_of(to)}});
}

Value reduced(GraphBuilder& b, std::string_view op, Value x, const std::vector<int>& axes) {
  if (!x.valid() || axes.empty()) return x;
  Integers sorted(axes.begin(), axes.end());
  std::ranges::sort(sorted);
  return b.add(op, {x}, reduction_attrs(std::move(sorted), false));
}

Value cast_to(GraphBuilder& b, Value x, DType dtype) {
  if (!x.valid() || b.type(x).dtype == dtype) return x;
  return b.add("cast", {x}, {{"to", std::string(to_string(dtype))}});
}

Value zeros(GraphBuilder& b, DType dtype, const Shape& shape) {
  return b.add(
      "fill", {},
      {{"shape", integers_of(shape)}, {"value", 0.0}, {"dtype", std::string(to_string(dtype))}});
}

Value scaled(GraphBuilder& b, Value x, double factor) {
  if (!x.valid() || factor == 1) return x;
  if (factor == -1) return b.add("neg", {x});
  return b.add("mul", {x, b.scalar(b.type(x).dtype, factor)});
}

}  // namespace egret::ir::autodiff

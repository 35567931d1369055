// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/core/index_arithmetic.h"
#include "ir/core/size_reference.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

bool is_one(Index size) { return size.is_constant() && size.constant() == 1; }

// Consecutive axes [in_begin, in_end) of the input hold the elements of [out_begin, out_end) of the
// output. Splitting a reshape into such groups keeps its index expressions small: an axis that does
// not change is read as it is, a flattening has no div, an unflattening one div and mod an axis.
struct AxisGroup {
  std::size_t in_begin, in_end, out_begin, out_end;
};

// The smallest number of input axes, then of output axes, with the same product. Shorter groups
// mean div and mod over fewer axes. If no product agrees, for instance with sizes that only the
// facts relate, everything left is one group, and the caller requires that its sizes are equal.
AxisGroup next_group(std::span<const Index> in, std::span<const Index> out, std::size_t i,
                     std::size_t j) {
  for (std::size_t i_end = i + 1; i_end <= in.size(); ++i_end) {
    const Index joint = product(in.subspan(i, i_end - i));
    for (std::size_t j_end = j + 1; j_end <= out.size(); ++j_end) {
      if (product(out.subspan(j, j_end - j)).same(joint)) return {i, i_end, j, j_end};
    }
  }
  return {i, in.size(), j, out.size()};
}

// Axes of size 1 hold no elements; what is left is cut into groups.
struct Essential {
  std::vector<Index> sizes{};
  std::vector<std::size_t> axes{};
};

Essential essential_axes(std::span<const Index> sizes) {
  Essential result;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (is_one(sizes[axis])) continue;
    result.sizes.push_back(sizes[axis]);
    result.axes.push_back(axis);
  }
  return result;
}

// Axes of size 1 are left out, then both shapes are walked in parallel in groups of equal product.
void define(Definition& d) {
  const TensorType x(d.dtype(0), d.dims(0));
  const auto target = target_dims(x, d.targets("shape"));
  if (!target.ok()) {
    d.fail(target.status().message());
    return;
  }
  Shape known;
  for (const Index& size : *target) {
    if (size.is_constant()) known.push_back(size.constant());
  }
  const auto count = element_count(known);
  if (!d.require(count.has_value(), "the target shape is too large")) return;

  const auto out = d.output(x.dtype, *target);
  std::vector<Index> at(x.dims.size(), Index(0));
  const bool empty = *count == 0 || std::ranges::any_of(x.dims, [](const Index& size) {
    return size.is_constant() && size.constant() == 0;
  });
  if (empty) {  // no element is ever read, and a size of 0 must not become a divisor
    d.require(product(x.dims) == product(*target), "the input and the target differ in elements");
    d.value(d.read(0, at));
    return;
  }

  const Essential from = essential_axes(x.dims);
  const Essential to = essential_axes(*target);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.sizes.size() || j < to.sizes.size()) {
    const AxisGroup g = next_group(from.sizes, to.sizes, i, j);
    const auto in_sizes = std::span(from.sizes).subspan(i, g.in_end - i);
    const auto out_sizes = std::span(to.sizes).subspan(j, g.out_end - j);
    if (!d.require(product(in_sizes) == product(out_sizes),
                   to_string(x) + " has not as many elements as the target " +
                       to_string(TensorType(x.dtype, *target)))) {
      return;
    }
    std::vector<Index> vars;
    for (std::size_t k = g.out_begin; k < g.out_end; ++k) vars.push_back(out[to.axes[k]]);
    // Row-major order: the linear index within the group is the same on both sides.
    const auto group_at = multi_index(linear_index(vars, out_sizes), in_sizes);
    for (std::size_t k = g.in_begin; k < g.in_end; ++k) at[from.axes[k]] = group_at[k - i];
    i = g.in_end;
    j = g.out_end;
  }
  d.value(d.read(0, at));
}

// Reshape that changes nothing is left out.
Value reshaped(OnnxNode& node, Value x, Integers target) {
  const TensorType& type = node.type(x);
  target = resolved_target(type, std::move(target));
  bool same = static_cast<int>(target.size()) == type.rank();
  for (int axis = 0; same && axis < type.rank(); ++axis) {
    const std::int64_t size = target[static_cast<std::size_t>(axis)];
    same = size == target_of_axis(type, axis) || size == size_of_axis(axis);
  }
  return same ? x : node.builder().add("reshape", {x}, {{"shape", std::move(target)}});
}

OnnxOutputs import_reshape(OnnxNode& node) {
  const Value x = node.input(0);
  const TensorType& type = node.type(x);
  EGRET_ASSIGN_OR_RETURN(Integers target, required_size_integers(node, 1, "shape"));
  const bool zero_is_a_size = node.integer("allowzero", 0) != 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] < -1) {
      return base::bad_input("size " + std::to_string(target[i]) + " in the target shape");
    }
    if (target[i] != 0 || zero_is_a_size) continue;
    if (static_cast<int>(i) >= type.rank()) {
      return base::bad_input("size 0 at axis " + std::to_string(i) + " copies from " +
                             to_string(type) + ", which lacks this axis");
    }
    target[i] = target_of_axis(type, static_cast<int>(i));
  }
  return only_output(reshaped(node, x, std::move(target)));
}

OnnxOutputs import_flatten(OnnxNode& node) {
  const Value x = node.input(0);
  const TensorType& type = node.type(x);
  const int rank = type.rank();
  std::int64_t axis = node.integer("axis", 1);
  if (axis != rank) axis = node.axis(axis, rank);  // rank itself is allowed
  const Integers target{target_of_axes(type, 0, static_cast<int>(axis)),
                        target_of_axes(type, static_cast<int>(axis), rank)};
  if (target[0] == kInferredSize && target[1] == kInferredSize) {
    return base::unsupported("Flatten of " + to_string(type) +
                             " needs more known sizes; bind symbols with --bind NAME=SIZE");
  }
  return only_output(reshaped(node, x, target));
}

// The axes named by attribute or input, non-negative for `rank`; nullopt when there are none.
base::Result<std::optional<std::vector<bool>>> axis_set(const OnnxNode& node, int rank) {
  EGRET_ASSIGN_OR_RETURN(const auto axes, integers_argument(node, 1, "axes"));
  if (!axes) return std::optional<std::vector<bool>>{};
  std::vector<bool> named(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : *axes) {
    const auto at = static_cast<std::size_t>(node.axis(axis, rank));
    if (at < named.size()) named[at] = true;
  }
  return std::optional(named);
}

OnnxOutputs import_squeeze(OnnxNode& node) {
  const Value x = node.input(0);
  const TensorType& type = node.type(x);
  EGRET_ASSIGN_OR_RETURN(const auto axes, axis_set(node, type.rank()));
  // An empty list: no axis, as the text of ONNX has it; ONNX Runtime takes it for all.
  if (axes && std::ranges::find(*axes, true) == axes->end() &&
      std::ranges::any_of(type.dims, [](Index n) { return is_one(n) || !n.is_constant(); }))
    return base::unsupported("Squeeze of an empty list of axes, which engines read differently");
  Integers target;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    const bool one = is_one(type.dims[at]);
    // An open size is required to be 1 by the reshape.
    if (axes && (*axes)[at] && type.dims[at].is_constant() && !one) {
      return base::bad_input("axis " + std::to_string(axis) + " of " + to_string(type) +
                             " cannot be squeezed because its size is not 1");
    }
    if (axes ? !(*axes)[at] : !one) target.push_back(target_of_axis(type, axis));
  }
  return only_output(reshaped(node, x, std::move(target)));
}

OnnxOutputs import_unsqueeze(OnnxNode& node) {
  const Value x = node.input(0);
  const TensorType& type = node.type(x);
  EGRET_ASSIGN_OR_RETURN(const Integers axes, required_integers(node, 1, "axes"));
  const int rank = type.rank() + static_cast<int>(axes.size());
  EGRET_ASSIGN_OR_RETURN(const auto inserted, axis_set(node, rank));
  if (std::ranges::count(*inserted, true) != static_cast<std::ptrdiff_t>(axes.size())) {
    return base::bad_input("axes " + to_string(AttrValue(axes)) + " are not distinct");
  }
  Integers target;
  int next = 0;
  for (const bool is_new : *inserted) target.push_back(is_new ? 1 : target_of_axis(type, next++));
  return only_output(reshaped(node, x, std::move(target)));
}

// In ONNX 0 copies the size of the same axis and one -1 is inferred. References to other axes use
// the -1 while it is free, else they are computed from the input's shape.
base::Status write(OnnxWriter& writer) {
  const TensorType& in = writer.input_type(0);
  const Dims& out = writer.output_type().dims;
  const Integers& target = writer.attrs().as_written("shape");
  const bool no_copies = std::ranges::any_of(
      out, [](const Index& size) { return size.is_constant() && size.constant() == 0; });
  if (no_copies) EGRET_RETURN_IF_ERROR(require_opset(writer, 14, "Reshape to an empty shape"));
  std::vector<std::string> parts;
  Integers sizes;
  bool inferred = std::ranges::any_of(out, [&](const Index& size) {
    return !size.is_constant() && target[static_cast<std::size_t>(&size - out.data())] == -1;
  });
  int computed = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].is_constant()) {
      sizes.push_back(out[i].constant());
    } else if (target[i] == kInferredSize) {
      sizes.push_back(-1);
    } else if (i < in.dims.size() && in.dims[i].same(out[i]) && !no_copies) {
      sizes.push_back(0);
    } else if (!inferred) {
      inferred = true;
      sizes.push_back(-1);
    } else {
      ++computed;
      sizes.push_back(target[i]);
    }
  }
  std::vector<OnnxWriter::Attribute> attributes;
  if (no_copies) attributes.push_back({"allowzero", std::int64_t{1}});
  if (computed == 0) {
    writer.emit("Reshape", {writer.input(0), writer.constant_integers(sizes)}, attributes);
    return base::ok();
  }
  const std::string shape = writer.emit("Shape", {writer.input(0)});
  for (const std::int64_t size : sizes) {
    parts.push_back(
        refers_to_axis(size)
            ? writer.emit("Gather", {shape, writer.constant_integers({referred_axis(size)})})
            : writer.constant_integers({size}));
  }
  EGRET_CHECK(in.rank() > 0, "only an input with axes can be referred to");
  const std::string joined = writer.emit("Concat", parts, {{"axis", std::int64_t{0}}});
  writer.emit("Reshape", {writer.input(0), joined}, attributes);
  return base::ok();
}

}  // namespace

Operator reshape() {
  return primitive("reshape", "The same elements in row-major order under another shape", {"x"})
      .attr("shape", AttrKind::kIntegers,
            "the target sizes; -1 is inferred, -2-k is the size of the input's axis k")
      .shown_on({"f32[N,6,4]"}, {{"shape", Integers{-2, 24}}})
      .defined_by(define)
      .onnx_import("Reshape", import_reshape)
      .onnx_import("Flatten", import_flatten)
      .onnx_import("Squeeze", import_squeeze)
      .onnx_import("Unsqueeze", import_unsqueeze)
      .onnx_export(write);
}

}  // namespace egret::ir::ops

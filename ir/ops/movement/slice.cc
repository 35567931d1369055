// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

//   out[.., i, ..] = x[.., start + i*step, ..]     in range without clamping
void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  if (!d.require_axis(axis, d.rank(0))) return;
  const Index start = d.size("start");
  const Index size = d.size("size");
  const Index step = d.size("step");
  const Index length = d.dim(0, static_cast<int>(axis));
  const std::string range = to_string(size) + " elements from " + to_string(start) + " by " +
                            to_string(step) + " leave an axis of size " + to_string(length);
  d.require(step != 0, "step must not be 0");
  d.require(size >= 0, "size must not be negative");
  if (!d.require(size == 0 || within(0, start, length), range)) return;
  if (!d.require(size == 0 || within(0, start + (size - 1) * step, length), range)) return;

  Dims dims = d.dims(0);
  dims[static_cast<std::size_t>(axis)] = size;
  std::vector<Index> at = d.output(d.dtype(0), dims);
  Index& i = at[static_cast<std::size_t>(axis)];
  i = start + i * step;
  d.value(d.read(0, at));
}

struct Range {
  std::int64_t start, size, step;
};

// ONNX clamps start and end to the axis, after counting negative ones from its end.
Range clamped(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t length) {
  const auto from_end = [&](std::int64_t i) { return i < 0 ? i + length : i; };
  Range range{0, 0, 1};
  if (step > 0) {
    range.start = std::clamp<std::int64_t>(from_end(start), 0, length);
    const std::int64_t stop = std::clamp<std::int64_t>(from_end(end), 0, length);
    range.size = stop <= range.start ? 0 : (stop - range.start - 1) / step + 1;
  } else if (length > 0) {
    range.start = std::clamp<std::int64_t>(from_end(start), 0, length - 1);
    const std::int64_t stop = std::clamp<std::int64_t>(from_end(end), -1, length - 1);
    // Divided by the step itself: -step overflows for the least integer.
    range.size = range.start <= stop ? 0 : (stop + 1 - range.start) / step + 1;
  }
  if (range.size == 0) range.start = 0;
  range.step = range.size <= 1 ? 1 : step;
  return range;
}

base::Result<Value> sliced(OnnxNode& node, Value x, int axis, std::int64_t start, std::int64_t end,
                           std::int64_t step) {
  if (step == 0) return base::bad_input("a slice with step 0");
  constexpr std::int64_t kBeyond = std::numeric_limits<std::int32_t>::max();
  const bool reversal = step == -1 && (start == -1 || start >= kBeyond) && end <= -kBeyond;
  if (reversal) return node.builder().add("reverse", {x}, {{"axis", std::int64_t{axis}}});
  const bool known = node.type(x).dims[static_cast<std::size_t>(axis)].is_constant();
  if (!known && step == 1 && start == 0 && end >= kBeyond) return x;
  EGRET_ASSIGN_OR_RETURN(const std::int64_t length, known_size(node, x, axis));
  const Range range = clamped(start, end, step, length);
  if (range.size == length && range.step == 1) return x;
  return node.builder().add("slice", {x},
                            {{"axis", std::int64_t{axis}},
                             {"start", range.start},
                             {"size", range.size},
                             {"step", range.step}});
}

OnnxOutputs import_slice(OnnxNode& node) {
  Value x = node.input(0);
  EGRET_ASSIGN_OR_RETURN(const Integers starts, required_integers(node, 1, "starts"));
  EGRET_ASSIGN_OR_RETURN(const Integers ends, required_integers(node, 2, "ends"));
  EGRET_ASSIGN_OR_RETURN(const auto axes, integers_argument(node, 3, "axes"));
  EGRET_ASSIGN_OR_RETURN(const auto steps, integers_argument(node, 4, "steps"));
  if (ends.size() != starts.size() || (axes && axes->size() != starts.size()) ||
      (steps && steps->size() != starts.size())) {
    return base::bad_input("starts, ends, axes and steps differ in length");
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis =
        node.axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), node.type(x).rank());
    if (node.type(x).rank() == 0) return base::bad_input("a scalar has no axis to slice");
    EGRET_ASSIGN_OR_RETURN(
        x, sliced(node, x, static_cast<int>(axis), starts[i], ends[i], steps ? (*steps)[i] : 1));
  }
  return only_output(x);
}

// The sizes of the parts: given, or equal; since opset 18 the last part may be smaller.
base::Result<Integers> part_sizes(const OnnxNode& node, Value x, int axis) {
  EGRET_ASSIGN_OR_RETURN(const auto given, integers_argument(node, 1, "split"));
  if (given) return *given;
  EGRET_ASSIGN_OR_RETURN(const std::int64_t length, known_size(node, x, axis));
  const std::int64_t parts =
      std::max<std::int64_t>(1, node.integer("num_outputs", node.output_count()));
  if (!node.has_attr("num_outputs") && length % parts != 0) {
    return base::bad_input("axis of size " + std::to_string(length) + " does not split into " +
                           std::to_string(parts) + " equal parts");
  }
  if (parts > length && length > 0) return base::bad_input("more parts than elements");
  const std::int64_t part = (length + parts - 1) / parts;
  Integers sizes;
  for (std::int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::clamp<std::int64_t>(length - i * part, 0, part));
  }
  return sizes;
}

OnnxOutputs import_split(OnnxNode& node) {
  const Value x = node.input(0);
  const int axis = static_cast<int>(node.axis(node.integer("axis", 0), node.type(x).rank()));
  if (node.output_count() > 1 << 20) return base::bad_input("too many outputs");
  EGRET_ASSIGN_OR_RETURN(const Integers sizes, part_sizes(node, x, axis));
  EGRET_ASSIGN_OR_RETURN(const std::int64_t length, known_size(node, x, axis));
  if (static_cast<int>(sizes.size()) != node.output_count()) {
    return base::bad_input(std::to_string(sizes.size()) + " parts for " +
                           std::to_string(node.output_count()) + " outputs");
  }
  std::vector<Value> outputs;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > length - start) {
      return base::bad_input("parts " + to_string(AttrValue(sizes)) + " of an axis of size " +
                             std::to_string(length));
    }
    const bool used = node.has_output(static_cast<int>(outputs.size()));
    outputs.push_back(size == length ? x
                      : used         ? node.builder().add("slice", {x},
                                                          {{"axis", std::int64_t{axis}},
                                                           {"start", size == 0 ? 0 : start},
                                                           {"size", size},
                                                           {"step", std::int64_t{1}}})
                                     : Value{});
    start += size;
  }
  if (start != length) {
    return base::bad_input("the parts have " + std::to_string(start) + " elements of " +
                           std::to_string(length));
  }
  return outputs;
}

base::Status write(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  const std::int64_t start = attrs.integer("start");
  const std::int64_t step = attrs.integer("step");
  std::int64_t end = start + attrs.integer("size") * step;
  if (end < 0) end = std::numeric_limits<std::int64_t>::min();  // -1 would count from the end
  const Integers axes{attrs.integer("axis")};
  if (writer.opset() >= 10) {
    std::vector<std::string> inputs{writer.input(0), writer.constant_integers({start}),
                                    writer.constant_integers({end}),
                                    writer.constant_integers(axes)};
    if (step != 1) inputs.push_back(writer.constant_integers({step}));
    writer.emit("Slice", std::move(inputs));
    return base::ok();
  }
  if (step != 1) EGRET_RETURN_IF_ERROR(require_opset(writer, 10, "Slice with a step"));
  writer.emit("Slice", {writer.input(0)},
              {{"axes", axes}, {"starts", Integers{start}}, {"ends", Integers{end}}});
  return base::ok();
}

}  // namespace

Operator slice() {
  return primitive("slice", "Every step-th element of one axis, from a start; in range", {"x"})
      .attr("axis", AttrKind::kInteger, "the sliced axis")
      .attr("start", AttrKind::kInteger, "index of the first element")
      .attr("size", AttrKind::kInteger, "number of elements")
      .attr("step", std::int64_t{1}, "distance between elements, negative to go backwards")
      .shown_on({"f32[M,10]"}, {{"axis", std::int64_t{1}},
                                {"start", std::int64_t{1}},
                                {"size", std::int64_t{3}},
                                {"step", std::int64_t{2}}})
      .defined_by(define)
      .onnx_import("Slice", import_slice)
      .onnx_import("Split", import_split)
      .onnx_export(write);
}

}  // namespace egret::ir::ops

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/core/symbolic_scope.h"
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

// `index` clamped to [0, length], after counting a negative one from the end. nullopt if its sign
// depends on a size.
std::optional<Index> clamped_to(Index index, Index length) {
  const auto is_negative = decided(index < 0);
  if (!is_negative) return std::nullopt;
  if (*is_negative) index = index + length;
  if (decided(index >= length).value_or(false)) return length;
  if (decided(index <= 0).value_or(false)) return Index(0);
  const auto holds = [](Guard guard) { return decided(guard).value_or(false); };
  return holds(index >= 0) && holds(index <= length) ? index : max(0, min(index, length));
}

// A slice along an axis, or between bounds, that depend on open sizes; forwards only.
base::Result<Value> sliced_open(OnnxNode& node, Value x, int axis, Index start, Index end,
                                std::int64_t step) {
  const Index length = node.type(x).dims[static_cast<std::size_t>(axis)];
  const auto first = clamped_to(start, length);
  const auto last = clamped_to(end, length);
  if (step <= 0 || !first || !last) {
    return base::unsupported("a slice from " + to_string(start) + " to " + to_string(end) + " by " +
                             std::to_string(step) + " of an axis of size " + to_string(length));
  }
  Index room = *last - *first;
  if (!decided(room >= 0).value_or(false)) room = max(0, room);
  const Index size = step == 1 ? room : ceil_div(room, step);
  if (step == 1 && decided(size == length).value_or(false)) return x;
  const auto start_integer = open_integer(*first);
  const auto size_integer = open_integer(size);
  if (!start_integer || !size_integer)
    return base::unsupported("a slice to the open size " + to_string(size));
  return node.builder().add("slice", {x},
                            {{"axis", std::int64_t{axis}},
                             {"start", *start_integer},
                             {"size", *size_integer},
                             {"step", step}});
}

base::Result<Value> sliced(OnnxNode& node, Value x, int axis, Index start_index, Index end_index,
                           std::int64_t step) {
  if (step == 0) return base::bad_input("a slice with step 0");
  if (!start_index.is_constant() || !end_index.is_constant())
    return sliced_open(node, x, axis, start_index, end_index, step);
  const std::int64_t start = start_index.constant();
  const std::int64_t end = end_index.constant();
  constexpr std::int64_t kBeyond = std::numeric_limits<std::int32_t>::max();
  const bool reversal = step == -1 && (start == -1 || start >= kBeyond) && end <= -kBeyond;
  if (reversal) return node.builder().add("reverse", {x}, {{"axis", std::int64_t{axis}}});
  const bool known = node.type(x).dims[static_cast<std::size_t>(axis)].is_constant();
  if (!known && step == 1 && start == 0 && end >= kBeyond) return x;
  if (!known && open_integer(node.type(x).dims[static_cast<std::size_t>(axis)]))
    return sliced_open(node, x, axis, start, end, step);
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
  EGRET_ASSIGN_OR_RETURN(const std::vector<Index> starts, required_sizes(node, 1, "starts"));
  EGRET_ASSIGN_OR_RETURN(const std::vector<Index> ends, required_sizes(node, 2, "ends"));
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

// Whether the program may be taken to have only sizes at which this holds.
bool assumed(Guard guard) {
  if (guard.is_constant()) return guard.is_true();
  SymbolicScope* const scope = SymbolicScope::current();
  return scope != nullptr && scope->assume(guard);
}

// The sizes of the parts: given, or equal; since opset 18 the last part may be smaller.
base::Result<std::vector<Index>> part_sizes(const OnnxNode& node, Index length) {
  EGRET_ASSIGN_OR_RETURN(auto given, sizes_argument(node, 1, "split"));
  if (given) return *std::move(given);
  const std::int64_t parts =
      std::max<std::int64_t>(1, node.integer("num_outputs", node.output_count()));
  if (parts > 1 << 20) return base::bad_input("too many parts");
  const bool equal = !node.has_attr("num_outputs");
  if (equal && !assumed(mod(length, parts) == 0)) {
    return base::bad_input("axis of size " + to_string(length) + " does not split into " +
                           std::to_string(parts) + " equal parts");
  }
  const bool empty = length.is_constant() && length.constant() == 0;
  if (!empty && !assumed(parts <= length)) return base::bad_input("more parts than elements");
  const Index part = equal ? div(length, parts) : ceil_div(length, parts);
  std::vector<Index> sizes;
  for (std::int64_t i = 0; i < parts; ++i) {
    const Index rest = equal ? part : max(0, min(part, length - part * i));
    sizes.push_back(!equal && decided(part * (i + 1) <= length).value_or(false) ? part : rest);
  }
  return sizes;
}

OnnxOutputs import_split(OnnxNode& node) {
  const Value x = node.input(0);
  const int axis = static_cast<int>(node.axis(node.integer("axis", 0), node.type(x).rank()));
  if (node.type(x).rank() == 0) return base::bad_input("a scalar has no axis to split");
  if (node.output_count() > 1 << 20) return base::bad_input("too many outputs");
  const Index length = node.type(x).dims[static_cast<std::size_t>(axis)];
  EGRET_ASSIGN_OR_RETURN(const std::vector<Index> sizes, part_sizes(node, length));
  if (static_cast<int>(sizes.size()) != node.output_count()) {
    return base::bad_input(std::to_string(sizes.size()) + " parts for " +
                           std::to_string(node.output_count()) + " outputs");
  }
  std::vector<Value> outputs;
  Index start = 0;
  for (const Index& size : sizes) {
    if (!assumed(size >= 0) || !assumed(start + size <= length)) {
      return base::bad_input("a part of " + to_string(size) + " from " + to_string(start) +
                             " of an axis of size " + to_string(length));
    }
    const bool used = node.has_output(static_cast<int>(outputs.size()));
    if (size.same(length)) {
      outputs.push_back(x);
    } else if (used) {
      EGRET_ASSIGN_OR_RETURN(const Integers bounds, open_integers(std::vector<Index>{
                                                        size.same(0) ? Index(0) : start, size}));
      outputs.push_back(node.builder().add("slice", {x},
                                           {{"axis", std::int64_t{axis}},
                                            {"start", bounds[0]},
                                            {"size", bounds[1]},
                                            {"step", std::int64_t{1}}}));
    } else {
      outputs.emplace_back();
    }
    start = start + size;
  }
  const bool equal = !node.has_attr("num_outputs") && node.input_count() < 2;
  if (!equal && !assumed(start == length)) {
    return base::bad_input("the parts have " + to_string(start) + " elements of " +
                           to_string(length));
  }
  return outputs;
}

// The bounds of a slice of open sizes are computed; such slices go forwards.
base::Status write_open(OnnxWriter& writer, Index start, Index size, std::int64_t step) {
  EGRET_RETURN_IF_ERROR(require_opset(writer, 10, "Slice with computed bounds"));
  const auto first = open_integer(start);
  const auto last = open_integer(start + size * step);
  if (!first || !last || step < 0)
    return base::unsupported("a slice of the open size " + to_string(size));
  writer.emit("Slice", {writer.input(0), writer.constant_integers({*first}),
                        writer.constant_integers({*last}),
                        writer.constant_integers({writer.attrs().integer("axis")}),
                        writer.constant_integers({step})});
  return base::ok();
}

base::Status write(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  const std::int64_t step = attrs.integer("step");
  const Index open_start = attrs.size("start");
  const Index open_size = attrs.size("size");
  if (!open_start.is_constant() || !open_size.is_constant())
    return write_open(writer, open_start, open_size, step);
  const std::int64_t start = open_start.constant();
  std::int64_t end = start + open_size.constant() * step;
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

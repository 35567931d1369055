// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "ir/graph/builder.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

// Where an element of the padded axis comes from, for each mode but "constant". All are in range
// for any amount of padding of an axis that is not empty.
Index source(const std::string& mode, Index i, Index size) {
  if (mode == "edge") return max(0, min(i, size - 1));
  if (mode == "wrap") return mod(i, size);
  const Index period = max(1, (size - 1) * 2);  // reflect: 0 1 2 3 2 1 | 0 1 ...
  const Index phase = mod(i, period);
  return min(phase, period - phase);
}

// With b = before, a = after, m = interior, in mode constant:
//
//   out[i..] = x[(i - b) div (m + 1) ..] where m + 1 divides i - b, and that element exists; else
//   value
//
// The output has size + m * (size - 1) + b + a elements. Negative b and a therefore remove
// elements, those added between others included.
void define(Definition& d) {
  const std::string& mode = d.text("mode");
  const std::vector<Index> before = d.sizes("before");
  const std::vector<Index> after = d.sizes("after");
  const std::vector<Index> interior = d.sizes("interior");
  const auto rank = static_cast<std::size_t>(d.rank(0));
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    d.fail("mode must be constant, edge, reflect or wrap, not " + mode);
    return;
  }
  if (before.size() != rank || after.size() != rank) {
    d.fail("before and after take one number an axis");
    return;
  }
  if (!interior.empty() && interior.size() != rank) {
    d.fail("interior takes one number an axis, or none at all");
    return;
  }
  const bool constant = mode == "constant";
  Dims dims;
  std::vector<Index> steps;
  for (std::size_t k = 0; k < rank; ++k) {
    const Index size = d.dim(0, static_cast<int>(k));
    steps.push_back(interior.empty() ? Index(1) : interior[k] + 1);
    d.require(steps[k] >= 1, "interior padding must not be negative");
    const Index spread = steps[k].same(1) ? size : max(0, (size - 1) * steps[k] + 1);
    dims.push_back(spread + before[k] + after[k]);
    if (constant) {
      d.require(dims[k] >= 0, "negative padding removes more than the axis has");
      continue;
    }
    d.require(before[k] >= 0 && after[k] >= 0 && steps[k] == 1,
              "mode " + mode + " adds elements at the ends alone");
    if (!dims[k].same(size)) d.require(size >= 1, "mode " + mode + " pads an empty axis");
  }
  if (!d.ok()) return;

  const auto out = d.output(d.dtype(0), dims);
  std::vector<Index> at;
  Guard inside = true;
  for (std::size_t k = 0; k < rank; ++k) {
    const Index size = d.dim(0, static_cast<int>(k));
    const Index i = out[k] - before[k];
    const bool spread = !steps[k].same(1);
    const bool padded = spread || !before[k].same(0) || !after[k].same(0);
    if (padded && !constant) {
      at.push_back(source(mode, i, size));
      continue;
    }
    if (spread) inside = inside && mod(i, steps[k]) == 0;
    at.push_back(spread ? div(i, steps[k]) : i);
    if (padded) inside = inside && within(0, at[k], size);
  }
  d.value(select(inside, d.read(0, at), d.real_as(d.dtype(0), "value")));
}

struct Padding {
  Integers before, after;
};

// Pads of all axes, or (opset 18) of the axes named.
base::Result<Padding> padding(const OnnxNode& node, int rank) {
  const bool oldest = node.has_attr("paddings");  // opset 1
  EGRET_ASSIGN_OR_RETURN(const Integers pads,
                         required_size_integers(node, 1, oldest ? "paddings" : "pads"));
  EGRET_ASSIGN_OR_RETURN(const auto axes, integers_argument(node, 3, "axes"));
  const std::size_t count = axes ? axes->size() : static_cast<std::size_t>(rank);
  if (pads.size() != 2 * count) {
    return base::bad_input(std::to_string(pads.size()) + " pads for " + std::to_string(count) +
                           " axes");
  }
  Padding result{Integers(static_cast<std::size_t>(rank)),
                 Integers(static_cast<std::size_t>(rank))};
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = axes ? static_cast<std::size_t>(node.axis((*axes)[i], rank)) : i;
    if (axis >= result.before.size()) return base::bad_input("a scalar has no axis to pad");
    result.before[axis] = pads[i];
    result.after[axis] = pads[count + i];
  }
  return result;
}

// Negative pads of axes of known size become slices, for which there are more rules and kernels.
base::Result<Value> cropped(OnnxNode& node, Value x, Padding& pads, bool constant) {
  for (std::size_t axis = 0; axis < pads.before.size(); ++axis) {
    const std::int64_t first = std::min<std::int64_t>(pads.before[axis], 0);
    const std::int64_t last = std::min<std::int64_t>(pads.after[axis], 0);
    if (first == 0 && last == 0) continue;
    if (constant && !node.type(x).dims[axis].is_constant()) continue;
    EGRET_ASSIGN_OR_RETURN(const std::int64_t size, known_size(node, x, static_cast<int>(axis)));
    if (first < -size || last < -size - first) {
      return base::bad_input("negative pads remove more than axis " + std::to_string(axis) +
                             " has");
    }
    x = node.builder().add("slice", {x},
                           {{"axis", static_cast<std::int64_t>(axis)},
                            {"start", size + first + last == 0 ? 0 : -first},
                            {"size", size + first + last}});
    pads.before[axis] -= first;
    pads.after[axis] -= last;
  }
  return x;
}

// Whether `value`, which is an attribute, cannot hold the element.
bool is_beyond_reals(const Tensor& element) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  return !is_float(element.dtype()) && (element.i64_at(0) > kExact || element.i64_at(0) < -kExact);
}

// Padding by an integer that `value` cannot hold: it is chosen where padding by false says so.
Value padded_by(OnnxNode& node, Value x, const Padding& pads, const Tensor& element) {
  GraphBuilder& b = node.builder();
  const auto add = [&](Value of) {
    return b.add("pad", {of}, {{"before", pads.before}, {"after", pads.after}});
  };
  const Value inside = add(b.add("equal", {x, x}));
  Tensor scalar(element.dtype(), Shape{});
  std::ranges::copy(element.data(), scalar.mutable_data().begin());
  return b.add("where", {inside, add(x), b.constant(std::move(scalar))});
}

OnnxOutputs import(OnnxNode& node) {
  Value x = node.input(0);
  EGRET_ASSIGN_OR_RETURN(Padding pads, padding(node, node.type(x).rank()));
  EGRET_ASSIGN_OR_RETURN(const auto constant, constant_argument(node, 2, "constant_value"));
  if (constant && constant->elements() != 1) {
    return base::bad_input("constant_value must be one element");
  }
  const std::string mode = node.text("mode", "constant");
  EGRET_ASSIGN_OR_RETURN(x, cropped(node, x, pads, mode == "constant"));
  const auto zero = [](std::int64_t amount) { return amount == 0; };
  if (std::ranges::all_of(pads.before, zero) && std::ranges::all_of(pads.after, zero)) {
    return only_output(x);
  }
  if (constant && mode == "constant" && is_beyond_reals(*constant)) {
    return only_output(padded_by(node, x, pads, *constant));
  }
  const double value = constant ? constant->f64_at(0) : node.real("value", 0);
  return only_output(node.builder().add("pad", {x},
                                        {{"before", pads.before},
                                         {"after", pads.after},
                                         {"mode", mode},
                                         {"value", mode == "constant" ? value : 0.0}}));
}

// Writes Pad; returns the name of its output.
base::Result<std::string> write_pad(OnnxWriter& writer, std::string x, Integers pads) {
  const Attrs& attrs = writer.attrs();
  const OnnxWriter::Attribute mode{"mode", attrs.text("mode")};
  if (attrs.text("mode") == "wrap") EGRET_RETURN_IF_ERROR(require_opset(writer, 19, "Pad (wrap)"));
  if (writer.opset() < 11) {
    return writer.emit("Pad", {std::move(x)},
                       {{"pads", pads}, mode, {"value", attrs.real("value")}});
  }
  std::vector<std::string> inputs{std::move(x), writer.constant_integers(pads)};
  if (attrs.text("mode") == "constant") {
    inputs.push_back(
        writer.constant(Tensor::scalar(writer.output_type().dtype, attrs.real("value"))));
  }
  return writer.emit("Pad", std::move(inputs), {mode});
}

// ONNX does not pad between elements. There each axis of n elements becomes n axes of one element,
// which are padded at the end; the last padding is then one of its `interior` too many.
base::Result<std::string> write_spread(OnnxWriter& writer, Integers& after) {
  const Integers& interior = writer.attrs().integers("interior");
  Integers apart;
  Integers ends;
  Integers together;
  for (std::size_t k = 0; k < interior.size(); ++k) {
    const Index size = writer.input_type(0).dims[k];
    if (!size.is_constant() || size.constant() == 0) {
      return base::unsupported("padding between the elements of an axis of size " +
                               to_string(size));
    }
    apart.insert(apart.end(), {size.constant(), 1});
    ends.insert(ends.end(), {0, interior[k]});
    together.push_back(size.constant() * (interior[k] + 1));
    after[k] -= interior[k];
  }
  ends.insert(ends.begin(), ends.size(), 0);  // nothing before
  const std::string x = writer.emit("Reshape", {writer.input(0), writer.constant_integers(apart)});
  EGRET_ASSIGN_OR_RETURN(const std::string padded, write_pad(writer, x, ends));
  return writer.emit("Reshape", {padded, writer.constant_integers(together)});
}

base::Status write(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  Integers pads = attrs.as_written("before");
  Integers after = attrs.as_written("after");
  std::string x = writer.input(0);
  const auto adds = [](std::int64_t amount) { return amount != 0; };
  if (std::ranges::any_of(attrs.integers("interior"), adds)) {
    EGRET_ASSIGN_OR_RETURN(x, write_spread(writer, after));
  }
  pads.insert(pads.end(), after.begin(), after.end());
  EGRET_RETURN_IF_ERROR(write_pad(writer, x, std::move(pads)).status());
  return base::ok();
}

}  // namespace

Operator pad() {
  return primitive("pad", "Adds elements before, after and between those of each axis", {"x"})
      .attr("before", AttrKind::kIntegers,
            "elements added at the start of each axis; a negative number removes elements (mode "
            "constant)")
      .attr("after", AttrKind::kIntegers, "the same at the end of each axis")
      .attr("interior", Integers{},
            "elements added between two neighbours of each axis (mode constant); an empty list "
            "adds none")
      .attr(
          "mode", std::string("constant"),
          "what is added: constant, edge (the nearest element), reflect (mirrored, the edge once) "
          "or wrap (the other end)")
      .one_of({"constant", "edge", "reflect", "wrap"})
      .attr("value", 0.0, "the added element in mode constant")
      .shown_on({"f32[M,N]"}, {{"before", Integers{1, 0}}, {"after", Integers{2, 0}}})
      .defined_by(define)
      .onnx_import("Pad", import)
      .onnx_export(write);
}

}  // namespace egret::ir::ops

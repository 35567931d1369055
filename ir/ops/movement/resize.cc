// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/body.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/resize_axis.h"
#include "ir/ops/families/resize_open.h"

namespace egret::ir::ops {
namespace {

// A row of constants that broadcasts along `axis` of `rank` axes.
Value along_axis(Body& b, const std::vector<double>& values, DType dtype, std::int64_t axis,
                 int rank) {
  Shape shape(static_cast<std::size_t>(rank - axis), 1);
  shape[0] = static_cast<std::int64_t>(values.size());
  return b.builder().constant(Tensor::of(dtype, shape, values));
}

// A sum over the taps of gathered elements times weights, with the tables as constants.
Value build(Body& b) {
  const Value x = b.input(0);
  const TensorType type = b.type(x);
  const std::int64_t axis = b.integer("axis");
  if (axis < 0 || axis >= type.rank()) return b.fail("there is no axis " + std::to_string(axis));
  const Index in_size = type.dims[static_cast<std::size_t>(axis)];
  if (!in_size.is_constant() || !b.attrs().size("size").is_constant())
    return resize_open_axis(b, static_cast<int>(axis));
  const auto plan = resize_plan(b.attrs(), in_size.constant());
  if (!plan.ok()) return b.fail(plan.status().message());
  if (!is_float(type.dtype) && plan->taps.size() > 1) {
    return b.fail("mode " + b.text("mode") + " needs real elements, not " + to_string(type));
  }
  Value sum;
  for (const ResizeTap& tap : plan->taps) {
    const Value from = b.builder().constant(Tensor::of_integers(tap.from));
    Value term = b("gather", {x, from}, {{"axis", axis}});
    if (std::ranges::any_of(tap.weight, [](double w) { return w != 1; })) {
      term = b("mul", {term, along_axis(b, tap.weight, type.dtype, axis, type.rank())});
    }
    sum = sum.valid() ? b("add", {sum, term}) : term;
  }
  if (std::ranges::any_of(plan->outside, [](bool o) { return o; })) {
    const std::vector<double> outside(plan->outside.begin(), plan->outside.end());
    sum = b("where", {along_axis(b, outside, DType::kBool, axis, type.rank()),
                      b.scalar(type.dtype, b.real("extrapolation")), sum});
  }
  return sum;
}

// ---- ONNX ----

// What an axis becomes. The scale 0 stands for new size / old size.
struct Target {
  Index size;
  double scale;
};

// ONNX rounds the product in f32.
std::int64_t scaled_size(std::int64_t size, double scale) {
  return static_cast<std::int64_t>(
      std::floor(static_cast<float>(size) * static_cast<float>(scale)));
}

// Of an open size, for scales with which the product is exact in f32 up to large sizes.
base::Result<Target> open_target(Index size, double scale) {
  constexpr std::int64_t kExact = std::int64_t{1} << 24;
  const auto fraction = dyadic_scale(scale);
  SymbolicScope* const scope = SymbolicScope::current();
  if (!fraction || scope == nullptr || !scope->assume(size * fraction->over <= kExact)) {
    return base::unsupported("the open size " + to_string(size) + " times " +
                             to_string(AttrValue(scale)) +
                             ", which ONNX rounds; bind its symbols (--bind NAME=SIZE)");
  }
  return Target{div(size * fraction->over, fraction->under), scale};
}

struct Request {
  std::vector<std::int64_t> axes;  // what scales, sizes and roi speak of
  std::vector<double> scales;      // empty when sizes are given
  std::vector<Index> sizes;
  std::vector<double> roi;  // empty: whole axes

  bool is_whole(std::size_t i) const {
    return roi.empty() || (roi[i] == 0 && roi[axes.size() + i] == 1);
  }
  base::Result<Target> target(std::size_t i, Index length) const;
};

base::Result<Target> Request::target(std::size_t i, Index length) const {
  if (sizes.empty() && !length.is_constant()) return open_target(length, scales[i]);
  if (sizes.empty()) return Target{scaled_size(length.constant(), scales[i]), scales[i]};
  if (!length.is_constant() || !sizes[i].is_constant()) return Target{sizes[i], 0};
  return Target{sizes[i],
                static_cast<double>(sizes[i].constant()) / static_cast<double>(length.constant())};
}

base::Result<std::vector<double>> reals_input(const OnnxNode& node, int i, std::string_view what) {
  EGRET_ASSIGN_OR_RETURN(const auto tensor, constant_argument(node, i, what));
  std::vector<double> values;
  for (std::int64_t k = 0; tensor && k < tensor->elements(); ++k) {
    values.push_back(tensor->f64_at(k));
  }
  return values;
}

// Upsample and Resize-10 have scales alone; Resize-11 has roi, scales and sizes.
base::Result<Request> requested(const OnnxNode& node, int rank) {
  Request r;
  const bool modern = node.op_type() == "Resize" && node.opset() >= 11;
  if (node.has_attr("axes")) {
    for (const std::int64_t axis : node.integers("axes", {})) {
      r.axes.push_back(node.axis(axis, rank));
    }
  } else {
    for (int axis = 0; axis < rank; ++axis) r.axes.push_back(axis);
  }
  if (node.has_attr("scales")) {  // Upsample-7
    r.scales = node.reals("scales", {});
  } else {
    EGRET_ASSIGN_OR_RETURN(r.scales, reals_input(node, modern ? 2 : 1, "scales"));
  }
  if (modern) {
    EGRET_ASSIGN_OR_RETURN(const auto sizes, sizes_argument(node, 3, "sizes"));
    if (sizes) r.sizes = *sizes;
    if (node.text("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
      EGRET_ASSIGN_OR_RETURN(r.roi, reals_input(node, 1, "roi"));
      if (r.roi.size() != 2 * r.axes.size()) return base::bad_input("roi has a wrong length");
    }
  }
  const std::size_t given = r.sizes.empty() ? r.scales.size() : r.sizes.size();
  if (given != r.axes.size()) {
    return base::bad_input(std::to_string(given) + " scales or sizes for " +
                           std::to_string(r.axes.size()) + " axes");
  }
  if (node.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    return base::unsupported("keep_aspect_ratio_policy");
  }
  if (node.integer("antialias", 0) != 0) return base::unsupported("antialias");
  return r;
}

// Before opset 11, ONNX does not say which element is the nearest. Engines round down, and ONNX
// Runtime up where an axis shrinks.
base::Status check_nearest(const OnnxNode& node, double scale) {
  if (node.opset() >= 11 || scale >= 1 || node.text("mode", "nearest") != "nearest")
    return base::ok();
  const double step = 1 / scale;
  return step == std::round(step)
             ? base::ok()
             : base::unsupported("Resize to fewer elements by the nearest before opset 11");
}

Attrs common_attrs(const OnnxNode& node) {
  const bool modern = node.op_type() == "Resize" && node.opset() >= 11;
  std::string mode = node.text("mode", "nearest");
  if (mode == "bilinear") mode = "linear";  // Upsample-1
  return {{"mode", mode},
          {"coordinates",
           modern ? node.text("coordinate_transformation_mode", "half_pixel") : "asymmetric"},
          {"nearest", modern ? node.text("nearest_mode", "round_prefer_floor") : "floor"},
          {"cubic_coefficient", node.real("cubic_coeff_a", -0.75)},
          {"exclude_outside", node.integer("exclude_outside", 0)},
          {"extrapolation", node.real("extrapolation_value", 0)}};
}

OnnxOutputs import(OnnxNode& node) {
  Value x = node.input(0);
  EGRET_ASSIGN_OR_RETURN(const Request request, requested(node, node.type(x).rank()));
  Attrs attrs = common_attrs(node);
  for (std::size_t i = 0; i < request.axes.size(); ++i) {
    const auto axis = static_cast<int>(request.axes[i]);
    const bool whole = request.is_whole(i);
    if (request.sizes.empty() && request.scales[i] == 1 && whole) continue;
    const TensorType& type = node.type(x);
    if (axis < 0 || axis >= type.rank())
      return base::bad_input("there is no axis " + std::to_string(axis) + " in " + to_string(type));
    const Index length = type.dims[static_cast<std::size_t>(axis)];
    if (length.is_constant() && length.constant() < 1)
      return base::bad_input("an empty axis cannot be resized");
    if (request.sizes.empty()) EGRET_RETURN_IF_ERROR(check_nearest(node, request.scales[i]));
    EGRET_ASSIGN_OR_RETURN(const Target target, request.target(i, length));
    if (target.size.is_constant() && target.size.constant() < 1)
      return base::unsupported("a scale that leaves an axis without elements");
    const bool stays = decided(target.size == length).value_or(false);
    if (stays && (target.scale == 1 || target.scale == 0) && whole) continue;
    EGRET_ASSIGN_OR_RETURN(const Integers size, open_integers(std::span(&target.size, 1)));
    attrs.set("axis", std::int64_t{axis});
    attrs.set("size", size.front());
    attrs.set("scale", target.scale);
    if (!request.roi.empty()) {
      attrs.set("roi_start", request.roi[i]);
      attrs.set("roi_end", request.roi[request.axes.size() + i]);
    }
    x = node.builder().add("resize", {x}, attrs);
    if (!x.valid()) return node.builder().status();
  }
  return only_output(x);
}

// With scales where they give the size, else with sizes.
base::Status write(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  const TensorType& type = writer.input_type(0);
  const auto axis = static_cast<std::size_t>(attrs.integer("axis"));
  const auto rank = static_cast<std::int64_t>(type.dims.size());
  const bool open = !type.dims[axis].is_constant() || !attrs.size("size").is_constant();
  const double scale = attrs.real("scale");
  const bool by_scale =
      scale != 0 && static_cast<double>(static_cast<float>(scale)) == scale &&
      (open || scaled_size(type.dims[axis].constant(), scale) == attrs.integer("size"));
  base::Result<Integers> sizes = open_integers(writer.output_type().dims);
  if (!by_scale) EGRET_RETURN_IF_ERROR(sizes.status());
  const std::int64_t none[] = {0};
  const std::int64_t each[] = {rank};
  const std::int64_t both[] = {2 * rank};
  Tensor scales = Tensor::filled(TensorType(DType::kF32, each), 1);
  scales.set_f64(static_cast<std::int64_t>(axis), attrs.real("scale"));
  Tensor roi(DType::kF32, none);
  if (attrs.text("coordinates") == "tf_crop_and_resize") {
    roi = Tensor(DType::kF32, both);
    for (std::int64_t i = 0; i < rank; ++i) roi.set_f64(rank + i, 1);
    roi.set_f64(static_cast<std::int64_t>(axis), attrs.real("roi_start"));
    roi.set_f64(rank + static_cast<std::int64_t>(axis), attrs.real("roi_end"));
  }
  std::vector<std::string> inputs{writer.input(0), writer.constant(roi)};
  if (by_scale) {
    inputs.push_back(writer.constant(scales));
  } else {
    inputs.push_back(writer.constant(Tensor(DType::kF32, none)));
    inputs.push_back(writer.constant_integers(*sizes));
  }
  writer.emit("Resize", std::move(inputs),
              {{"mode", attrs.text("mode")},
               {"coordinate_transformation_mode", attrs.text("coordinates")},
               {"nearest_mode", attrs.text("nearest")},
               {"cubic_coeff_a", attrs.real("cubic_coefficient")},
               {"exclude_outside", attrs.integer("exclude_outside")},
               {"extrapolation_value", attrs.real("extrapolation")}});
  return base::ok();
}

}  // namespace

Operator resize() {
  return composite("resize", "One axis resampled to another size, as ONNX's Resize defines it",
                   {"x"})
      .attr("axis", AttrKind::kInteger, "the resampled axis")
      .attr("size", AttrKind::kInteger, "its new size")
      .attr("scale", AttrKind::kReal,
            "new size / old size, before rounding; 0: of the sizes as they are")
      .attr("mode", std::string("nearest"), "nearest, linear or cubic")
      .one_of({"nearest", "linear", "cubic"})
      .attr("coordinates", std::string("half_pixel"), "ONNX's coordinate_transformation_mode")
      .one_of({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
               "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"})
      .attr("nearest", std::string("round_prefer_floor"), "ONNX's nearest_mode")
      .one_of({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      .attr("cubic_coefficient", -0.75, "a of the cubic kernel")
      .attr("exclude_outside", std::int64_t{0}, "1: weights outside of the input are 0")
      .attr("extrapolation", 0.0, "value outside of the input for tf_crop_and_resize")
      .attr("roi_start", 0.0, "start of the region for tf_crop_and_resize, in units of the axis")
      .attr("roi_end", 1.0, "its end")
      .shown_on({"f32[N,C,2,3]"}, {{"axis", std::int64_t{2}},
                                   {"size", std::int64_t{4}},
                                   {"scale", 2.0},
                                   {"mode", std::string("linear")}})
      .with_body(build)
      .onnx_import("Resize", import)
      .onnx_import("Upsample", import)
      .onnx_export(write, 11);
}

}  // namespace egret::ir::ops

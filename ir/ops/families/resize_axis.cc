// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/resize_axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace egret::ir {
namespace {

// Inferring a type writes the table. This many entries take 128 MiB and a tenth of a second; an
// output with as long an axis is seldom meant.
constexpr std::int64_t kMostEntries = 1 << 22;

// Where output element i lies on the input's axis.
base::Result<double> source_position(const ResizeAxis& a, std::int64_t i) {
  const auto x = static_cast<double>(i);
  const auto in = static_cast<double>(a.in_size);
  // The output's length before it was rounded down, unless rounding noise is all the difference.
  double out = a.scale * in;
  if (std::abs(out - static_cast<double>(a.out_size)) < 1e-6) out = static_cast<double>(a.out_size);
  const bool single = a.out_size == 1 && out == 1;
  const double half_pixel = (x + 0.5) / a.scale - 0.5;
  if (a.coordinates == "half_pixel") return half_pixel;
  if (a.coordinates == "pytorch_half_pixel") return a.out_size > 1 ? half_pixel : 0.0;
  if (a.coordinates == "asymmetric") return x / a.scale;
  if (a.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (a.coordinates == "align_corners") return single ? 0.0 : x * (in - 1) / (out - 1);
  if (a.coordinates == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(a.out_size) / (a.scale * in);
    return in / 2 * (1 - adjustment) + half_pixel;
  }
  if (a.coordinates == "tf_crop_and_resize") {
    const double width = (a.roi_end - a.roi_start) * (in - 1);
    return a.roi_start * (in - 1) + (single ? width / 2 : x * width / (out - 1));
  }
  return base::bad_input("unknown coordinate transformation '" + a.coordinates + "'");
}

base::Result<std::int64_t> nearest_element(const ResizeAxis& a, double position) {
  const double below = std::floor(position);
  const double ratio = position - below;
  const auto low = static_cast<std::int64_t>(below);
  if (ratio == 0) return low;
  if (a.nearest == "round_prefer_floor") return ratio <= 0.5 ? low : low + 1;
  if (a.nearest == "round_prefer_ceil") return ratio < 0.5 ? low : low + 1;
  if (a.nearest == "floor") return low;
  if (a.nearest == "ceil") return low + 1;
  return base::bad_input("unknown nearest mode '" + a.nearest + "'");
}

// Keys' convolution kernel (Keys, "Cubic convolution interpolation for digital image processing",
// IEEE Trans. ASSP 29, 1981) at the four neighbours of a position `ratio` past the second.
std::array<double, 4> cubic_weights(double a, double ratio) {
  const auto near = [&](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [&](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(ratio + 1), near(ratio), near(1 - ratio), far(2 - ratio)};
}

// Of the input elements from `first` on; those outside count for nothing, unless all are outside,
// which then stand for the edge.
void exclude_outside(const ResizeAxis& a, std::int64_t first, std::span<double> weights) {
  const auto is_outside = [&](std::size_t k) {
    const std::int64_t from = first + static_cast<std::int64_t>(k);
    return from < 0 || from >= a.in_size;
  };
  double inside = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) inside += is_outside(k) ? 0 : weights[k];
  for (std::size_t k = 0; inside != 0 && k < weights.size(); ++k)
    weights[k] = is_outside(k) ? 0 : weights[k] / inside;
}

// What needs no table to be seen.
base::Status check(const ResizeAxis& a, std::size_t taps) {
  if (a.in_size < 1 || a.out_size < 0) return base::bad_input("an empty axis cannot be resized");
  if (!(a.scale > 0) || !std::isfinite(a.scale)) return base::bad_input("scales must be positive");
  if (taps == 4 && a.mode != "cubic") return base::bad_input("unknown mode '" + a.mode + "'");
  EGRET_RETURN_IF_ERROR(source_position(a, 0).status());
  if (taps == 1) EGRET_RETURN_IF_ERROR(nearest_element(a, 0.5).status());
  const std::int64_t most = kMostEntries / static_cast<std::int64_t>(taps);
  if (a.out_size <= most) return base::ok();
  return base::bad_input("an axis is resized to " + std::to_string(a.out_size) +
                         " elements; at most " + std::to_string(most) + " are supported in mode " +
                         a.mode);
}

}  // namespace

// Resizing is separable: along each axis, an output element is a weighted sum of up to four input
// elements (taps). The table holds each tap's source and weight. A tap without weight anywhere is
// dropped.
base::Result<ResizeSamples> resize_plan(const ResizeAxis& a) {
  const std::size_t count = a.mode == "nearest" ? 1 : a.mode == "linear" ? 2 : 4;
  EGRET_RETURN_IF_ERROR(check(a, count));
  const auto size = static_cast<std::size_t>(a.out_size);
  ResizeSamples plan;
  plan.taps.assign(count, {std::vector<std::int64_t>(size), std::vector<double>(size)});
  if (a.coordinates == "tf_crop_and_resize") plan.outside.assign(size, false);
  const auto last = static_cast<double>(a.in_size - 1);
  for (std::size_t i = 0; i < size; ++i) {
    EGRET_ASSIGN_OR_RETURN(double position, source_position(a, static_cast<std::int64_t>(i)));
    if (std::isnan(position))  // of infinite scales or regions
      return base::bad_input("the positions of a resized axis are not numbers");
    if (!plan.outside.empty()) plan.outside[i] = position < 0 || position > last;
    position = std::clamp(position, -4.0, last + 4.0);  // further out all is the edge
    auto first = static_cast<std::int64_t>(std::floor(position));
    const double ratio = position - std::floor(position);
    std::array<double, 4> weights{1 - ratio, ratio};
    if (count == 1) {
      EGRET_ASSIGN_OR_RETURN(first, nearest_element(a, position));
      weights = {1};
    } else if (count == 4) {
      weights = cubic_weights(a.cubic_coefficient, ratio);
      --first;
    }
    if (a.exclude_outside) exclude_outside(a, first, std::span(weights).first(count));
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t from = first + static_cast<std::int64_t>(k);
      plan.taps[k].from[i] = std::clamp<std::int64_t>(from, 0, a.in_size - 1);
      plan.taps[k].weight[i] = weights[k];
    }
  }
  if (plan.taps.size() > 1) {
    std::erase_if(plan.taps, [](const ResizeTap& tap) {
      return std::ranges::all_of(tap.weight, [](double w) { return w == 0; });
    });
  }
  return plan;
}

base::Result<ResizeSamples> resize_plan(const Attrs& attrs, std::int64_t in_size) {
  const std::int64_t out_size = attrs.integer("size");
  const double scale = attrs.real("scale");
  return resize_plan(
      {.in_size = in_size,
       .out_size = out_size,
       .scale = scale != 0 ? scale : static_cast<double>(out_size) / static_cast<double>(in_size),
       .mode = attrs.text("mode"),
       .coordinates = attrs.text("coordinates"),
       .nearest = attrs.text("nearest"),
       .cubic_coefficient = attrs.real("cubic_coefficient"),
       .exclude_outside = attrs.integer("exclude_outside") != 0,
       .roi_start = attrs.real("roi_start"),
       .roi_end = attrs.real("roi_end")});
}

}  // namespace egret::ir

// SPDX-License-Identifier: Apache-2.0
// Resampling of one axis as ONNX's Resize defines it: the input elements of each output element and
// their weights. All ONNX modes are separable, so an N-dimensional resize resamples one axis at a
// time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/core/attributes.h"

namespace egret::ir {

struct ResizeAxis {
  std::int64_t in_size = 0;
  std::int64_t out_size = 0;
  double scale = 1;
  std::string mode;         // nearest, linear, cubic
  std::string coordinates;  // ONNX's coordinate_transformation_mode
  std::string nearest;      // ONNX's nearest_mode
  double cubic_coefficient = -0.75;
  bool exclude_outside = false;
  double roi_start = 0;  // of tf_crop_and_resize, in units of the axis
  double roi_end = 1;
};

struct ResizeTap {
  std::vector<std::int64_t> from;  // input element of each output element
  std::vector<double> weight;
};

struct ResizeSamples {
  std::vector<ResizeTap> taps;  // the output is the sum of taps; no tap is 0 everywhere
  std::vector<bool> outside;    // elements that tf_crop_and_resize extrapolates; may be empty
};

// O(out_size). Errors: bad_input for unknown modes, an empty input, and more than some millions of
// output elements.
base::Result<ResizeSamples> resize_plan(const ResizeAxis& axis);
// That of the operator `resize` with these attributes, for an axis of `in_size` elements. The new
// size is known.
base::Result<ResizeSamples> resize_plan(const Attrs& attrs, std::int64_t in_size);

}  // namespace egret::ir

// SPDX-License-Identifier: Apache-2.0
// Resampling of an axis of open size (see resize_axis.h for one of known size): the positions of
// the output elements are fractions of integers, which operators compute instead of a table.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph/body.h"

namespace egret::ir {

// A scale as a fraction whose denominator is a power of two.
struct DyadicScale {
  std::int64_t over = 1;
  std::int64_t under = 1;
};

// nullopt for other scales, and where a number exceeds 2^10: the size that ONNX rounds in f32 would
// be exact for short axes only.
std::optional<DyadicScale> dyadic_scale(double scale);

// The body of `resize` (ir/ops/movement/resize.cc) along `axis` of the input. Fails for
// exclude_outside, tf_crop_and_resize, scales that are no dyadic_scale(), and the nearest element
// by half_pixel_symmetric where the scale is no integer.
Value resize_open_axis(Body& b, int axis);

}  // namespace egret::ir

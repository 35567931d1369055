// SPDX-License-Identifier: Apache-2.0
// Affine quantization, real = (integer - zero) * scale, built from other operators. The quantized
// operators of ONNX become such graphs.
#pragma once

#include "ir/graph/builder.h"

namespace egret::ir {

Value converted(GraphBuilder& b, Value x, DType type);  // cast where x has another type

// A vector with sizes of 1 around it so that it broadcasts along `axis` of a tensor of `rank`; a
// scalar stays as it is.
Value along_axis(GraphBuilder& b, Value vector, std::int64_t axis, int rank);

// A scale or zero point with one element as a scalar: quantizers write [1] for a whole tensor.
Value one_for_all(GraphBuilder& b, Value vector);

// integer - zero as i32, along `axis` where zero is a vector; `zero` may be absent (invalid).
Value centered_integers(GraphBuilder& b, Value integer, Value zero, std::int64_t axis);

// round(x) + zero, clipped to what `type` holds; x is real, zero of that type or absent.
Value rounded_to(GraphBuilder& b, Value x, Value zero, DType type);

}  // namespace egret::ir

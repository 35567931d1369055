// SPDX-License-Identifier: Apache-2.0
// The operators that move elements, as functions that add no node where the operation is the
// identity. Sizes are concrete.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph/builder.h"

namespace egret::ir::autodiff {

Shape shape_of(const GraphBuilder& b, Value x);

Value reshaped(GraphBuilder& b, Value x, const Shape& to);
// Axis i of the result is axis perm[i] of x.
Value transposed(GraphBuilder& b, Value x, const std::vector<int>& perm);
// Elements start, start + step, ... of an axis.
Value sliced(GraphBuilder& b, Value x, int axis, std::int64_t start, std::int64_t size,
             std::int64_t step = 1);
// The adjoint of sliced(): scatters x to those places of an axis of `size`, with zeros elsewhere.
Value unsliced(GraphBuilder& b, Value x, int axis, std::int64_t start, std::int64_t step,
               std::int64_t size);
Value reversed(GraphBuilder& b, Value x, int axis);
Value broadcast_to(GraphBuilder& b, Value x, const Shape& to);
// The reduction `op` over the axes, which disappear.
Value reduced(GraphBuilder& b, std::string_view op, Value x, const std::vector<int>& axes);
Value cast_to(GraphBuilder& b, Value x, DType dtype);
Value zeros(GraphBuilder& b, DType dtype, const Shape& shape);
Value scaled(GraphBuilder& b, Value x, double factor);

}  // namespace egret::ir::autodiff

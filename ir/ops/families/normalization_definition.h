// SPDX-License-Identifier: Apache-2.0
// Shared parts of the normalizing composites.
#pragma once

#include "ir/graph/builder.h"
#include "ir/graph/onnx_binding.h"

namespace egret::ir {

// Mean, x - mean and sqrt(variance + epsilon) over axes, whose sizes of 1 are kept. The variance
// divides by the number of elements.
struct Moments {
  Value mean;
  Value centered;
  Value deviation;
};
Moments moments(GraphBuilder& b, Value x, const Integers& axes, double epsilon);

// The sum that ONNX Runtime's SkipLayerNormalization and SkipSimplifiedLayerNormalization
// normalize: x + skip + bias of a node, whose `bias` may be absent. Errors: bad_input if it has
// other axes than x; unsupported if mean or deviation are asked for, which no CPU computes.
base::Result<Value> skip_sum(OnnxNode& node, int bias);

// A vector [C] with sizes of 1 appended so that it broadcasts along axis 1 of a tensor of `rank`.
Value per_channel(GraphBuilder& b, Value vector, int rank);

// normalized * scale [+ bias], where scale and bias are given per channel.
Value scaled_per_channel(GraphBuilder& b, Value normalized, Value scale, Value bias);

}  // namespace egret::ir

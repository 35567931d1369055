// SPDX-License-Identifier: Apache-2.0
// The common part of softmax and log_softmax.
#pragma once

#include <string>

#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// x - max(x) over the axes, and the sum over them of its exponentials (sizes of 1 kept).
struct ShiftedExponentials {
  Value shifted;
  Value exponentials;
  Value sum;
};
ShiftedExponentials shifted_exponentials(GraphBuilder& b, Value x, const Integers& axes);

// The composite operator `name` with attribute `axis`. `over` builds it over several axes: below
// opset 13, ONNX's operator covers all axes from `axis` on.
using BuildOver = Value (*)(GraphBuilder& b, Value x, const Integers& axes);
Operator softmax_operator(std::string name, std::string doc, std::string onnx_name, BuildOver over);

// Whether all axes after `axis` have size 1, so that "from axis on" means "axis" alone.
bool rest_is_trivial(const TensorType& type, std::int64_t axis);

}  // namespace egret::ir

// SPDX-License-Identifier: Apache-2.0
// What the reduce_* operators share: attributes `axes` and `keepdims`, the output type, the box of
// reduced indices, and the ONNX forms (axes as attribute or as input).
#pragma once

#include "ir/operator.h"

namespace egret::ir {

// Declares out[..] = finish(reduction over axes of element(x), number of elements reduced).
// `element` and `finish` may be empty. An empty range is refused when `needs_element`.
struct ReductionForm {
  Reduction reduction = Reduction::kSum;
  std::function<Scalar(Scalar)> element{};
  std::function<Scalar(Scalar reduced, Scalar count)> finish{};
  bool needs_element = false;
};

// The whole operator `name`, imported from and exported to ONNX `onnx_name`.
Operator reduction_operator(std::string name, std::string doc, std::string onnx_name,
                            ReductionForm form);

}  // namespace egret::ir

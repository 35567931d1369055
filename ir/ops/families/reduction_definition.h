// SPDX-License-Identifier: Apache-2.0
// The common parts of the reduce_* operators: attributes `axes` and `keepdims`, the output type,
// the box of reduced indices, and the ONNX forms (axes as attribute or as input, global pooling).
#pragma once

#include "ir/graph/operator.h"

namespace egret::ir {

// The operator's names in ONNX.
struct ReductionOnnxNames {
  std::string reduce;       // "ReduceMean"
  std::string global_pool;  // "GlobalAveragePool": the same over all spatial axes; "" for none
};

// Declares out[..] = finish(reduction over axes of element(x), number of elements reduced).
// `element` and `finish` may be empty. An empty range is refused when `needs_element`.
struct ReductionForm {
  Reduction reduction = Reduction::kSum;
  std::function<Scalar(Scalar)> element{};
  std::function<Scalar(Scalar reduced, Scalar count)> finish{};
  bool needs_element = false;
};

// The whole operator `name`.
Operator reduction_operator(std::string name, std::string doc, const ReductionOnnxNames& onnx,
                            ReductionForm form);
// The same as a composite, whose body passes reduction_attrs() on.
Operator reduction_composite(std::string name, std::string doc, const ReductionOnnxNames& onnx,
                             Operator::BuildBody body);

Attrs reduction_attrs(Integers axes, bool keepdims);
// All axes from `first` to the last of `rank`.
Integers axes_from(std::int64_t first, int rank);

}  // namespace egret::ir

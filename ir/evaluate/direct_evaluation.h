// SPDX-License-Identifier: Apache-2.0
// Direct evaluation of a denotation in f64, element by element in the order of its definition: the
// oracle that the loop plans are compared with. About 10 to 100 ns for each term of an element.
#pragma once

#include <span>

#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/definition.h"

namespace egret::ir {

// The result has type `result`: its shape is the denotation's, its dtype that of the storage.
base::Result<Tensor> evaluate_directly(const Denotation& denotation, std::span<const Tensor> inputs,
                                       DType result, Precision precision = Precision::kF64);

}  // namespace egret::ir

// SPDX-License-Identifier: Apache-2.0
// Transposes pass operators whose definition says so. Models of frameworks that keep channels last
// surround each convolution by two transposes; between convolutions all of them meet and vanish.
#pragma once

#include <vector>

#include "rules/tensors/saturate.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

// transpose(f(x, y)) = f(transpose(x), transpose(y)) for elementwise f. An operand of lower rank
// is first reshaped to the rank of the others.
std::vector<CompiledRule> transpose_into_elementwise(TensorEGraph& tensors);

// f(transpose(x), c) = transpose(f(x, c')) for elementwise f, where each other operand c is a
// constant, has one element, or is a transpose by the same permutation: c' costs nothing then.
std::vector<CompiledRule> transpose_out_of_elementwise(TensorEGraph& tensors);

// transpose(resize(x)) = resize(transpose(x)): resize acts along one axis.
std::vector<CompiledRule> transpose_into_resize(TensorEGraph& tensors);

}  // namespace egret::rules

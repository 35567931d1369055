// SPDX-License-Identifier: Apache-2.0
// Facts about all elements of a tensor.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "ir/analysis/sign.h"
#include "ir/core/tensor.h"
#include "ir/core/tensor_type.h"
#include "ir/graph/definition.h"

namespace egret::ir {

// The common value of all elements of the tensor, if there is one. O(elements) if there is.
std::optional<double> common_value(const Tensor& tensor);

// The sign of the output's elements if those of all inputs have at least the sign that is the
// index. O(nodes of the denotation).
std::array<Sign, 3> output_signs(const Denotation& denotation, std::span<const TensorType> inputs);

}  // namespace egret::ir

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

// Whether the tensors have the same type and the same bytes.
bool same_elements(const Tensor& a, const Tensor& b);

// The common value of all elements, if there is one and an f64 holds it. O(elements) if there is.
std::optional<double> common_value(const Tensor& tensor);

// The sign of the output's elements if those of all inputs have at least the sign that is the
// index. O(nodes of the denotation).
std::array<Sign, 3> output_signs(const Denotation& denotation, std::span<const TensorType> inputs);

// What a definition shows of the elements of its output.
struct OutputFacts {
  std::optional<double> splat{};  // the value of all of them
  int moves = -1;                 // each is an element of this input; -1: no such
  std::array<Sign, 3> signs{};
};
OutputFacts output_facts(const Denotation& denotation, std::span<const TensorType> inputs);

}  // namespace egret::ir

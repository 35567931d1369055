// SPDX-License-Identifier: Apache-2.0
// The sign of an operator's elements, as far as it follows from its definition and from the signs
// of its inputs' elements. In exact arithmetic; elements that are not numbers have no sign.
#pragma once

#include <cstdint>
#include <span>

#include "ir/core/dtype.h"
#include "ir/core/tensor.h"
#include "ir/graph/definition.h"

namespace egret::ir {

// In ascending order of what is known.
enum class Sign : std::uint8_t { kUnknown, kNotNegative, kPositive };

// Of all elements of a type: truth values and unsigned integers are not negative.
Sign sign_of(DType dtype);
// Of a number.
Sign sign_of(double number);
// Of all elements of a tensor. O(elements).
Sign sign_of(const Tensor& tensor);
// Of all elements of the output. `inputs` has the type and the sign of each input's elements.
// O(nodes of the denotation).
struct SignedInput {
  DType dtype;
  Sign sign;
};
Sign sign_of(const Denotation& denotation, std::span<const SignedInput> inputs);

}  // namespace egret::ir

// SPDX-License-Identifier: Apache-2.0
// Inputs whose elements have a closed form: a number, the index along an axis, or 1 at one place
// and 0 elsewhere. With them in place of the elements, a value in sum form is a function of sizes
// and attributes alone, which solvers can compare.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "ir/core/tensor_type.h"
#include "verifier/algebra/need.h"
#include "verifier/algebra/sum_form.h"

namespace egret::verifier {

// An input whose elements may be any of its type and sign.
struct OpenInput {
  std::int64_t tensor = 0;
  ir::TensorType type;
  ir::Sign sign = ir::Sign::kUnknown;
};

// The element at a place, by tensor. It has no bound variables.
using ClosedInputs = std::map<std::int64_t, std::function<Sum(const std::vector<Polynomial>& at)>>;

// A short list of choices of all inputs, the simplest first. All elements are of their types and
// signs.
std::vector<ClosedInputs> closed_inputs(AtomTable& atoms, std::span<const OpenInput> inputs);

// The value for these inputs. Elements of other inputs, and elements that serve as indices, stay
// open.
Sum with_inputs(AtomTable& atoms, const Sum& sum, const ClosedInputs& inputs);
Need with_inputs(AtomTable& atoms, const Need& need, const ClosedInputs& inputs);

}  // namespace egret::verifier

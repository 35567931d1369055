// SPDX-License-Identifier: Apache-2.0
// Stochastic arithmetic on whole results; see InterpretOptions::perturbation.
#pragma once

#include <cstdint>

#include "ir/core/tensor.h"
#include "ir/nest/loop_nest.h"

namespace egret::ir {

// The number of terms of the longest sum (or product) over reals; 1 where there is other arithmetic
// on reals only; 0 for a nest that rounds nothing.
double rounded_terms(const LoopNest& nest);

// Multiplies each element by 1 + width*r, r uniform in [-1, 1] by seed and position.
void perturb(Tensor& tensor, double width, std::uint64_t seed);

// As perturb(), but leaves elements alone that every float type represents exactly (bf16 has 8
// digits): the exponent 2 of a square is 2 in any of them.
void perturb_rounded(Tensor& tensor, double width, std::uint64_t seed);

}  // namespace egret::ir

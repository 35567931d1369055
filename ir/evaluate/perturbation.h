// SPDX-License-Identifier: Apache-2.0
// Stochastic arithmetic on whole results; see InterpretOptions::perturbation.
#pragma once

#include <cstdint>

#include "ir/core/tensor.h"
#include "ir/nest/loop_nest.h"

namespace egret::ir {

// How many terms the longest sum (or product) over reals has, 1 where there is other arithmetic on
// reals alone; 0 for a nest that rounds nothing.
double rounded_terms(const LoopNest& nest);

// Multiplies each element by 1 + width*r, r uniform in [-1, 1] by seed and position.
void perturb(Tensor& tensor, double width, std::uint64_t seed);

// The same, but of elements that no type of floats rounds (bf16 has 8 digits): a square's exponent
// is 2 in any of them.
void perturb_rounded(Tensor& tensor, double width, std::uint64_t seed);

}  // namespace egret::ir

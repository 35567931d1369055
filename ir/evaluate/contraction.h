// SPDX-License-Identifier: Apache-2.0
// Sums of products of two tensors, as packed matrix products.
//
// A nest whose value is sum k... a[..] * b[..] with affine indices is a matrix product for each
// value of its batch variables: rows are the output variables that only one factor reads, columns
// those that only the other one reads, both read the batch variables. Because indices are affine,
// the place of an element is the sum of a part for its row (or column) and a part for its k, so two
// tables describe each factor whatever its layout; packing gathers panels through them and neither
// transposes nor im2col buffers are made (after TBLIS: Matthews, "High-performance tensor
// contraction without transposition", SIAM J. Sci. Comput. 40(1), 2018). A guard on one factor's
// variables (the padding of a convolution) packs zeros.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/evaluate/interpreter.h"
#include "ir/nest/loop_nest.h"

namespace egret::ir {

struct Contraction {
  struct Factor {
    int input = -1;
    std::vector<int> variables;  // output variables of this factor alone
    Affine form;
    std::vector<Affine> guards;  // each <= 0, or the factor counts as 0
  };
  Factor rows, columns;
  std::vector<int> batch;    // output variables of both
  std::vector<int> reduced;  // the sum's variables
};

// nullopt when the nest is no such sum.
std::optional<Contraction> find_any_contraction(const LoopNest& nest);
// The same, and nullopt for one so thin that lanes do as well.
std::optional<Contraction> find_contraction(const LoopNest& nest);

// False when zeros may not stand for what a guard excludes, because the other factor is not finite
// (0 times infinity is NaN).
bool zeros_are_neutral(const Contraction& contraction, std::span<const Tensor> inputs);

// Writes all elements of the nest's box into `out`, the elements of an f64 tensor.
base::Status run_contraction(const Contraction& contraction, const LoopNest& nest,
                             std::span<const Tensor> inputs, double* out,
                             const InterpretOptions& options);

}  // namespace egret::ir

// SPDX-License-Identifier: Apache-2.0
// Sums of products of two tensors, as packed matrix products.
//
// A nest whose value is sum k... a[..] * b[..] with affine indices is a matrix product for each
// value of its batch variables. Rows are the output variables that only one factor reads, columns
// those that only the other one reads; both factors read the batch variables. Indices are affine,
// so the offset of an element is the sum of a part for its row (or column) and a part for its k.
// Two tables therefore describe each factor in any layout. Packing gathers panels through the
// tables; neither transposes nor im2col buffers are made (after TBLIS: Matthews, "High-performance
// tensor contraction without transposition", SIAM J. Sci. Comput. 40(1), 2018). A guard on one
// factor's variables (the padding of a convolution) packs zeros.
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

// The contraction of a nest; nullopt when the nest is not such a sum of reals.
std::optional<Contraction> find_any_contraction(const LoopNest& nest);
// As find_any_contraction(), also of integers, but nullopt for a contraction so thin that lanes are
// as fast.
std::optional<Contraction> find_contraction(const LoopNest& nest);

// Whether sums of products of these integers are exact in f64: no sum exceeds 2^53, whatever the
// order of its terms. Time: one pass over both inputs.
bool is_exact_in_f64(const Contraction& contraction, const LoopNest& nest,
                     std::span<const Tensor> inputs);

// Whether zeros may replace the elements that a guard excludes. False when the other factor is not
// finite (0 times infinity is NaN).
bool zeros_are_neutral(const Contraction& contraction, std::span<const Tensor> inputs);

// Writes all elements of the nest's box into `out`, the elements of an f64 tensor.
base::Status run_contraction(const Contraction& contraction, const LoopNest& nest,
                             std::span<const Tensor> inputs, double* out,
                             const InterpretOptions& options);

}  // namespace egret::ir

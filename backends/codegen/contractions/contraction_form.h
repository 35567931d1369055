// SPDX-License-Identifier: Apache-2.0
// Sums of products in definitions, as batched matrix products over expressions.
//
// A definition holds one sum over k of f(.., k) * g(.., k). Output variables of f alone are rows,
// those of g alone are columns, those of both are the batch. A factor is any expression without a
// sum: a read in any layout, behind casts, functions and guards (padding, strides of a transposed
// convolution). The rest of the definition is the epilogue. Matrix products, convolutions with any
// attributes, their gradients and einsum are of this form; their layouts and strides only decide
// how a factor is packed (Matthews, "High-performance tensor contraction without transposition",
// SIAM J. Sci. Comput. 40(1), 2018).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/core/tensor_type.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

struct ContractionForm {
  // A copy of the definition's nest that has one part of it alone. Its variables are lists of
  // symbols, outermost first. A list of one role counts the same in all three parts, as a
  // mixed-radix number; neighbours that are contiguous in this part are one variable.
  struct Part {
    ir::LoopNest nest;
    std::vector<int> batch, rows, columns, depth;
    // Guards of the nest, of kind kLe over variables. The factor is the root's value where all of
    // them hold, and else 0.
    std::vector<int> bounds;
    // A term outside of them is no term of the sum, rather than one of 0; and no other guard of the
    // sum stands in the root.
    bool bounds_exclude = true;
  };

  Part left;      // the factor of the rows: batch, rows, depth
  Part right;     // the factor of the columns: batch, columns, depth
  Part epilogue;  // the root: batch, rows, columns. The sum is the read of an input behind the last
  int sum = -1;   // node of the epilogue
  std::int64_t batch = 1, rows = 1, columns = 1, depth = 1;
  ir::DType type = ir::DType::kF64;  // of the sum: kF64 for reals
  // Zeros stand for what a guard excludes. The sum is then NaN if the other factor is not finite.
  bool has_guards = false;

  double products() const {
    return static_cast<double>(batch) * static_cast<double>(rows) * static_cast<double>(columns) *
           static_cast<double>(depth);
  }
};

// `nest` as lowered, before merge_variables(); `inputs` are those of its reads. Columns are the
// side that is contiguous in the output, or else the longer one. nullopt if the definition has not
// exactly one sum, if the sum is not of such products, or if a guard mixes rows and columns. Time:
// linear in the size of the nest, quadratic in its variables.
std::optional<ContractionForm> contraction_form(const ir::LoopNest& nest,
                                                std::span<const ir::TensorType> inputs);

}  // namespace egret::backends::codegen

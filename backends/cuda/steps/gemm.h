// SPDX-License-Identifier: Apache-2.0
// Matrix products that cuBLASLt computes, recognized from the definition and not from a name: sums
// of products of two inputs whose indices are strides that a matrix can have. Transposes and slices
// that feed a product, products of any rank, and 1x1 convolutions are therefore recognized too.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/steps/library_step.h"

namespace egret::backends::cuda {

// C = relu(scale * op(A) op(B) + D + bias) for each of `batch`, column-major: C and D are m by n,
// op(A) m by k, op(B) k by n, the bias is a column. Of D, bias and relu each may be missing.
struct Gemm {
  struct Operand {
    int input = -1;  // of the definition
    bool transposed = false;
    std::int64_t rows = 0, columns = 0;  // as stored
    std::int64_t leading = 0;
    std::int64_t offset = 0;        // of the first element
    std::int64_t batch_stride = 0;  // all in elements
  };

  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  Operand a, b;
  std::int64_t leading = 0, batch_stride = 0;              // of C
  std::int64_t added_leading = 0, added_batch_stride = 0;  // of D
  ir::DType type = ir::DType::kF32;                        // of A and B
  ir::DType output_type = ir::DType::kF32;                 // of C, D and the bias: A's, or f32
  double scale = 1;
  int bias = -1, added = -1;  // inputs; `added` is D
  bool relu = false;
};

std::optional<Gemm> find_gemm(const StepDefinition& definition);

// Makes the result a part of a larger value. False where a matrix cannot lie there.
bool put(Gemm& gemm, const OutputPart& part);

// The compute type of a product of f32 at a precision; other types are exact to f32 or f64.
int compute_type(ir::DType type, Precision precision);

// nullptr where cuBLASLt has no algorithm that keeps to kWorkspace.
std::unique_ptr<LibraryStep> make_gemm_step(const LtFunctions& lt, LtHandle handle,
                                            const Gemm& gemm, Precision precision);

}  // namespace egret::backends::cuda

// SPDX-License-Identifier: Apache-2.0
// Matrix products that cuDNN computes with general fused epilogues, of which cuBLASLt supports few.
// Recognized like the products of gemm.h.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backends/cuda/steps/dnn_step.h"
#include "backends/cuda/steps/gemm.h"
#include "backends/cuda/steps/tail.h"

namespace egret::backends::cuda {

// tail(A B) over [batch, rows, columns].
struct Product {
  Gemm gemm;  // A is its op(B) and B its op(A), which lie column-major; no bias, D or relu
  std::vector<Tail::Operation> tail;
  // An input of the tail: one row of columns, or a tensor laid out like the output.
  struct Added {
    int input = -1;  // of the definition
    bool is_row = false;
  };
  std::vector<Added> added;
};

// nullopt for products that find_gemm() recognizes for cuBLASLt.
std::optional<Product> find_product(const StepDefinition& definition);

// Describes it in `operations`. For tests too.
DnnArguments describe(const Product& product, DnnOperations& operations);

// nullptr where cuDNN has no engine that keeps to kWorkspace and the precision.
std::unique_ptr<LibraryStep> make_product_step(Dnn& dnn, const Product& product);

}  // namespace egret::backends::cuda

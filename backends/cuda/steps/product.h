// SPDX-License-Identifier: Apache-2.0
// Matrix products that cuDNN computes with pointwise operations behind them, of which cuBLASLt
// knows few: found as gemm.h finds products.
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
  // Of the tail: a row of columns, or one that lies as the output does.
  struct Added {
    int input = -1;  // of the definition
    bool is_row = false;
  };
  std::vector<Added> added;
};

// What cuBLASLt may compute (find_gemm) is none.
std::optional<Product> find_product(const StepDefinition& definition);

// Puts it into `operations`. For tests too.
DnnArguments describe(const Product& product, DnnOperations& operations);

// nullptr where cuDNN has no engine that keeps to kWorkspace and the precision.
std::unique_ptr<LibraryStep> make_product_step(Dnn& dnn, const Product& product);

}  // namespace egret::backends::cuda

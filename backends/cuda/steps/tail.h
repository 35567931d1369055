// SPDX-License-Identifier: Apache-2.0
// General fused epilogues: pointwise operations on a sum of products, as cuDNN supports them behind
// a product or convolution on tensor cores: x * sigmoid(x), x * clip(x + 3, 0, 6) / 6, an erf. More
// engines support the forms of epilogue.h; this is for the others.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "backends/cuda/steps/dnn_step.h"
#include "ir/core/tensor.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::cuda {

struct Tail {
  struct Operand {
    enum class Kind : std::uint8_t { kSum, kResult, kInput, kNumber };

    Kind kind = Kind::kSum;
    std::size_t index = 0;  // kResult: of an operation before; kInput: in `read`
    double number = 0;      // kNumber
  };
  struct Operation {
    int mode;  // cuDNN's
    Operand a;
    std::optional<Operand> b{};
  };

  int sum = -1;                             // the node of the nest that is the sum
  std::vector<Operation> operations{};      // in order; the last one's is the result
  std::vector<const ir::NestNode*> read{};  // reads of inputs, each once
};

// nullopt where the root is not such an expression, has several sums, or more than kMostTail
// operations. Intermediate roundings to f16 and bf16 are ignored. The nodes are those of `nest`.
// `constants`: by input, its data where known (else nullptr), or empty.
inline constexpr std::size_t kMostTail = 12;
inline constexpr std::size_t kMostInputs = 12;  // of a step, numbers among them
std::optional<Tail> find_tail(const ir::LoopNest& nest,
                              std::span<const ir::Tensor* const> constants);

// Describes the operations in `operations`, and adds their numbers to `arguments`.
struct TailTensors {
  std::size_t rank;
  DnnBackend sum, output;
  std::function<DnnBackend(std::size_t)> input;  // Tail::read
  std::function<DnnBackend()> between;           // another virtual one of the output's form
};
void describe(std::span<const Tail::Operation> tail, const TailTensors& tensors,
              DnnOperations& operations, DnnArguments& arguments);

}  // namespace egret::backends::cuda

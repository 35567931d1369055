// SPDX-License-Identifier: Apache-2.0
// Attention that cuDNN computes without a score matrix in memory. It is recognized from the
// definition: a sum of products of values with weights. The weights are exponentials over their
// sum, of scores minus their maximum. The scores are a sum of products, scaled and with a mask
// added.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "backends/cuda/steps/dnn_step.h"

namespace egret::backends::cuda {

// out[b, h, i, e] = sum over t of softmax over t of (scale * q[b, h, i, :] . k[b, h, t, :] +
// mask[b, h, i, t]) * v[b, h, t, e]. All tensors are of one type of 16 bits.
struct Attention {
  struct Tensor {
    int input = -1;           // of the definition; -1: the output
    std::int64_t offset = 0;  // of the first element; this and strides in elements
    std::array<std::int64_t, 4> sizes{}, strides{};
  };

  Tensor q, k, v, output;
  std::optional<Tensor> mask;
  ir::DType type = ir::DType::kF16;
  double scale = 1;

  std::array<std::int64_t, 4> score_sizes() const {
    return {q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2]};
  }
};

std::optional<Attention> find_attention(const StepDefinition& definition);

// Describes it in `operations`: as cuDNN's own operation, which takes no mask, or as the products
// and the operations between them, which fewer engines support. For tests too.

enum class AttentionForm : std::uint8_t { kWhole, kParts };
DnnArguments describe(const Attention& attention, AttentionForm form, DnnOperations& operations);

// nullptr where cuDNN has no engine.
std::unique_ptr<LibraryStep> make_attention_step(Dnn& dnn, const Attention& attention);

}  // namespace egret::backends::cuda

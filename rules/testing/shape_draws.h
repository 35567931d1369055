// SPDX-License-Identifier: Apache-2.0
// Random sizes and types of the variables of one instance. Sizes are few and small, and a new
// tensor often resembles others of the instance: sizes that an operator wants equal often are, and
// sizes that need not be equal often are too.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/small_vector.h"
#include "ir/core/tensor_type.h"

namespace egret::rules {

// The sizes of variables in instances. Proofs are about sizes of at least 1, so 0 is drawn only for
// rules that have no instance otherwise.
enum class Sizes : std::uint8_t { kPositive, kWithZero };

// Drawn once for an instance.
struct Palette {
  std::vector<std::int64_t> sizes;  // one to three, of 1..4
  ir::DType main_type;              // of most variables
  std::optional<int> rank{};        // of most variables, if it is not drawn for each
  Sizes allowed = Sizes::kPositive;
};
Palette draw_palette(base::Random& random);

// The tensors that a new one may resemble.
using TensorTypes = base::SmallVector<const ir::TensorType*, 4>;
struct Models {
  const TensorTypes& operands;   // of the same application
  const TensorTypes& variables;  // all so far
};

std::int64_t draw_size(const Palette& palette, const Models& models, base::Random& random);

// `like`: the rank and element type of an operand that the operator is known to accept, or null.
// `rank`: the rank that the conditions of the rule require, if they do.
ir::TensorType draw_type(const Palette& palette, const Models& models,
                         const std::pair<int, ir::DType>* like, std::optional<int> rank,
                         base::Random& random);

}  // namespace egret::rules

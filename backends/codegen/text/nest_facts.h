// SPDX-License-Identifier: Apache-2.0
// Facts about a loop nest's values that the writer needs before it moves them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/core/tensor_type.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

// The product of the extents of the loop variables `symbols`.
std::int64_t extents(const ir::LoopNest& nest, std::span<const int> symbols);

class NestFacts {
 public:
  NestFacts(const ir::LoopNest& nest, std::span<const ir::TensorType> inputs);

  // Evaluating it neither fails nor reads out of range, even where no guard protects it.
  bool safe_node(int id);
  bool safe_symbol(int id);
  bool safe_guard(int id);
  // It contains a reduction.
  bool reduces(int id);
  // Every index, size and offset fits 32 bits with room for a stride.
  bool fits_32_bits() const;

  ir::Range range(const ir::Affine& form) const;

 private:
  enum class Answer : std::uint8_t { kUnknown, kNo, kYes };

  bool safe_form(const ir::Affine& form);

  const ir::LoopNest& nest_;
  std::span<const ir::TensorType> inputs_;
  std::vector<Answer> safe_nodes_, safe_symbols_, reduces_;
};

}  // namespace egret::backends::codegen

// SPDX-License-Identifier: Apache-2.0
// Whether the values of a factor fit a narrower type than that of the sums. Instructions that take
// several terms at once need narrow operands.
#pragma once

#include <optional>
#include <span>

#include "backends/codegen/contractions/contraction_form.h"

namespace egret::backends::codegen {

class NarrowValues {
 public:
  // Both must outlive it.
  NarrowValues(const ContractionForm::Part& part, std::span<const ir::TensorType> inputs)
      : nest_(part.nest), inputs_(inputs) {}

  // `narrow`: kF16 or kBF16.
  bool are(ir::DType narrow) const;
  // Of integers, by the bounds of stored types, sums and differences; nullopt: unknown. Time of
  // both: linear in the size of the factor.
  std::optional<ir::Range> range() const;
  bool are_within(std::int64_t low, std::int64_t high) const;

 private:
  bool fits(ir::DType narrow, int id, int depth) const;
  std::optional<ir::Range> range_of(int id, int depth) const;
  ir::DType stored(const ir::NestNode& node) const {
    return inputs_[static_cast<std::size_t>(node.input)].dtype;
  }

  const ir::LoopNest& nest_;
  std::span<const ir::TensorType> inputs_;
};

}  // namespace egret::backends::codegen

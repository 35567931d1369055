// SPDX-License-Identifier: Apache-2.0
// The halos that the reads of an element need where its variable is cut, and the conditions that
// halos stand for: one that only excludes reads beyond the ends of an input is left out where rows
// of 0, or of minus infinity, do what the condition did.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph/definition.h"
#include "parallel/laws/index_forms.h"
#include "parallel/placement/placement.h"

namespace egret::parallel {

class HaloNeeds {
 public:
  explicit HaloNeeds(std::span<const ir::TensorType> types);

  // Adds the rows by which indices of this range leave a block of the input. Where nothing is known
  // of them, the operator on the parts says whether they do.
  void widen(std::size_t input, const Interval& local, std::int64_t block);

  // Whether the condition says that some read of `body` is not before the first row, or not after
  // the last, and the body is `otherwise` where that read finds what is beyond. What is beyond the
  // ends of that input is then decided. Throws NotCut.
  bool stand_for(const ir::ExprNode* condition, const ir::ExprNode* body, double otherwise,
                 IndexForms& indices);

  // By input. What is beyond the ends matters to those that have rows.
  const std::vector<Halo>& halos() const { return halos_; }

 private:
  bool decide_beyond(std::size_t input, Halo::Beyond beyond);

  std::span<const ir::TensorType> types_;
  std::vector<Halo> halos_;
  std::vector<bool> decided_;  // what is beyond the input's ends
};

// The value that a reduction's false conditions give; nullopt where it has none.
std::optional<double> neutral_of(ir::Reduction reduction);

// The value of an element that is a number for all inputs.
std::optional<double> constant_value(const ir::ExprNode* node);

}  // namespace egret::parallel

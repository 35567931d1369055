// SPDX-License-Identifier: Apache-2.0
// Batch axes: axes along which an operator computes each slice of its output from the operands'
// slices at the same place, as jax.vmap maps a function over an axis. Operands without such an
// axis, or with size 1 along it, repeat.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// Groups of axes, each with a size of its own: a symbol of the current SymbolicScope. An axis of an
// operand belongs to the group whose size it has.
class AxisGroups {
 public:
  explicit AxisGroups(std::span<const Index> sizes) : sizes_(sizes.begin(), sizes.end()) {}

  // Whether the groups' axes are batch axes of an application. Otherwise the number of a group
  // whose axes are not, as far as can be shown.
  //
  // They are if the application computes the same function of slices whichever of the operands
  // have size 1 along each group, and refuses two operands with different other sizes. The
  // definition is run for all these cases if they are few, and else for those of two groups at a
  // time: that it treats more groups alike is trusted. It must not compare a group's size with
  // another number than 1. If the operator refuses the operands as they are, it must refuse them in
  // all cases. Costs some 20 microseconds for each case.
  std::optional<std::size_t> exception(const Operator& op, const Attrs& attrs,
                                       std::span<const TensorType> operands) const;

  // The group whose size the decision depends on otherwise than by its being 1.
  std::optional<std::size_t> used_in(const Decision& decision) const;
  // Whether the decision is that a group's size is 1.
  bool is_whether_one(const Decision& decision) const;

 private:
  std::vector<Index> sizes_;
};

}  // namespace egret::ir

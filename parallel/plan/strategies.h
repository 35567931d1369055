// SPDX-License-Identifier: Apache-2.0
// Kinds of plans that have names, as limits on how inputs and weights are held. What follows from
// them (where sums are made, what is gathered) is found like any plan.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/placement/placement.h"

namespace egret::parallel {

enum class LeafRole : std::uint8_t {
  kInput,      // given anew for each run
  kWeight,     // a constant of the model that has a name
  kConstant,   // another one: it may be anywhere, as far as strategies are concerned
  kParameter,  // of a training step: its next value is an output
  kState,      // likewise, of the optimizer
};

struct Strategy {
  std::string_view name, help;
  bool training;   // only of training steps
  bool may_slice;  // blocks may be cut out of copies on the way
  bool (*allows)(LeafRole role, const ir::TensorType& whole, const Placement& placement,
                 const Mesh& mesh);
};

// The first one, "any", limits nothing.
std::span<const Strategy> strategies();
const Strategy* find_strategy(std::string_view name);  // nullptr: none such

// The first dimension that all axes of the mesh together cut evenly, cut by all of them; copies
// where there is none.
Placement even_cut(const ir::TensorType& whole, const Mesh& mesh);

}  // namespace egret::parallel

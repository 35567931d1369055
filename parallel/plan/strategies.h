// SPDX-License-Identifier: Apache-2.0
// Named strategies, as restrictions on the placements of inputs and weights. Everything else (where
// sums are made, what is gathered) is found as for any plan.
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
  kConstant,   // another constant, which strategies do not restrict
  kParameter,  // of a training step: its next value is an output
  kState,      // likewise, of the optimizer
};

struct Strategy {
  std::string_view name, help;
  bool training;   // only of training steps
  bool baseline;   // planned beside every plan
  bool may_slice;  // copies may be sliced to blocks
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

// SPDX-License-Identifier: Apache-2.0
// The facts about a tensor that the conditions and expressions of rules may use.
#pragma once

#include <optional>

#include "ir/core/tensor_type.h"

namespace egret::rules {

struct TensorFacts {
  ir::TensorType type;
  // Computable from weights alone: known before the first run, free at run time.
  bool constant = false;
  // All elements have this value (as f64). Known of constants, of what only moves
  // elements, and of single numbers computed from such.
  std::optional<double> splat;
};

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// The facts about a tensor that conditions and expressions of rules may use.
#pragma once

#include <optional>

#include "ir/analysis/sign.h"
#include "ir/core/tensor_type.h"

namespace egret::rules {

struct TensorFacts {
  ir::TensorType type;
  // Computable from weights alone: known before the first run and free at run time.
  bool constant = false;
  // The value of all elements (as f64), if it is known. Known for constants, for values that only
  // move elements, and for single numbers computed from such.
  std::optional<double> splat;
  // Of all elements, as far as it is known.
  ir::Sign sign = ir::Sign::kUnknown;
};

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// The table of operators. Only ir/operator.cc includes it.
#pragma once

#include <span>

#include "ir/operator.h"

namespace egret::ir::ops {

#define EGRET_OPERATOR(name) Operator name();
#include "ir/ops/operators.def"
#undef EGRET_OPERATOR

inline std::span<Operator (*const)()> rows() {
  static constexpr Operator (*kRows[])() = {
#define EGRET_OPERATOR(name) &(name),
#include "ir/ops/operators.def"
#undef EGRET_OPERATOR
  };
  return kRows;
}

}  // namespace egret::ir::ops

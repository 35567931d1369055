// SPDX-License-Identifier: Apache-2.0
// A quick comparison of two plans: no interpreter, no estimate of what rounding explains.
#pragma once

#include <optional>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/measure/output_check.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// Units of rounding that close outputs may differ by, in proportion to the largest element.
inline constexpr double kCloseUnits = 128;

// Runs both on random inputs of the original. If all outputs agree to 128 units of rounding in
// proportion to their largest elements (4 units for types of 16 bits), and integers exactly, that
// is reported. nullopt: they do not, or an output is zero or not finite; OutputCheck must decide
// then.
base::Result<std::optional<CheckReport>> compare_closely(const ir::Graph& original,
                                                         backends::ExecutablePlan& before,
                                                         backends::ExecutablePlan& after,
                                                         const CheckOptions& how);

// The same for outputs at hand. `original` gives their names.
std::optional<CheckReport> agree_closely(const ir::Graph& original,
                                         const std::vector<ir::Tensor>& expected,
                                         const std::vector<ir::Tensor>& got,
                                         const CheckOptions& how);

}  // namespace egret::driver

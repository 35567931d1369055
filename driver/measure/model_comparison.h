// SPDX-License-Identifier: Apache-2.0
// Whether two models compute the same.
#pragma once

#include <cstdint>

#include "base/options/option_table.h"
#include "base/status.h"
#include "driver/measure/backend_options.h"
#include "driver/measure/output_check.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct ComparisonOptions {
  std::int64_t samples = 1;
  bool explain_diff = false;

  static const base::OptionTable<ComparisonOptions>& table();
};

// Interprets `a` in f64, runs `plan` of `b` on the same inputs, and compares the outputs by
// position. Errors: mismatch for other types of inputs or outputs; those of OutputCheck.
base::Result<CheckReport> compare_models(const ir::Graph& a, const ir::Graph& b,
                                         backends::ExecutablePlan& plan,
                                         const CheckOptions& options);

// That inputs and outputs have the same types by position, and not the same names in another order.
// Errors: mismatch that names both.
base::Status same_interface(const ir::Graph& a, const ir::Graph& b);

}  // namespace egret::driver

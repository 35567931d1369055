// SPDX-License-Identifier: Apache-2.0
// The check of a decision before it is written: its outputs against the original's, at the sizes at
// which it was measured and at others.
#pragma once

#include "base/progress.h"
#include "base/status.h"
#include "driver/decide.h"
#include "driver/optimize.h"
#include "driver/precision/error_budget.h"
#include "driver/setup.h"

namespace egret::driver {

// `original` is the program as it is run. A result in less precision is checked against the error
// budget on samples that are held out; those that are compared with it (FormsFrom) are not checked.
// Without a plan, or with --no-check, nothing is checked. With --quick, outputs that agree to a few
// units in the last place with the original's plan need no interpreter. Errors: mismatch where
// outputs differ beyond the bound; limit_hit.
base::Result<OptimizeReport::Check> check_outputs(const ir::Graph& original, Decision& decision,
                                                  const Setup& setup,
                                                  const OptimizeOptions& options,
                                                  const ErrorBudget* budget,
                                                  base::ProgressSink* progress);

// With open sizes: the check again at other sizes than the first profile's. `checked`: whether
// check_outputs() made one.
base::Result<OptimizeReport::Sizes> check_sizes(const ir::Graph& program, const Decision& decision,
                                                const rules::OpenSizes& open, const Setup& setup,
                                                const OptimizeOptions& options, bool checked);

}  // namespace egret::driver

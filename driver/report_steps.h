// SPDX-License-Identifier: Apache-2.0
// OptimizeReport from the results of the steps of driver/pipeline.cc.
#pragma once

#include <vector>

#include "driver/decide.h"
#include "driver/optimize.h"
#include "driver/select/candidate.h"
#include "driver/select/selection.h"
#include "driver/setup.h"

namespace egret::driver {

struct OptimizeSteps {
  const Setup& setup;
  const OptimizeOptions& options;
  const OptimizeReport::Growth& growth;
  const Prediction& before;  // of the original
  const Profiler& profiler;
  const std::vector<Candidate>& candidates;  // as decide() left them
  const Decision& decision;
  const OptimizeReport::Sizes& sizes;
  const ErrorBudget* budget;  // null: none
  const OptimizeReport::Check& check;
};

// Everything but the times of the steps.
OptimizeReport report_of(const OptimizeSteps& steps);

}  // namespace egret::driver

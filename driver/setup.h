// SPDX-License-Identifier: Apache-2.0
// From the names in OptimizeOptions to the things that they name.
#pragma once

#include <memory>
#include <string>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/engine/engine.h"
#include "driver/measure/machine_fingerprint.h"
#include "driver/optimize.h"
#include "driver/prices/cost_choice.h"
#include "driver/prices/engine_costs.h"
#include "driver/prices/forbidden_operators.h"
#include "driver/search/graph_search.h"
#include "driver/select/selection.h"
#include "extract/core/extractor.h"
#include "rules/tensors/admitted_rules.h"

namespace egret::driver {

struct Setup {
  rules::AdmittedRules rules;
  const extract::ExtractorRow* extractor = nullptr;
  std::shared_ptr<const extract::ExtractorRow> own_extractor;  // `extractor`, where it was given
  const GraphSearchRow* search = nullptr;                      // instead of an extractor
  ForbiddenOperators forbidden;
  const backends::Backend* backend = nullptr;
  std::shared_ptr<const Engine> engine{};  // null: candidates run on the backend
  Execution execution;
  std::string machine;  // machine_fingerprint() of the execution
  CostChoice costs;
  std::shared_ptr<EngineCosts> engine_costs{};  // null: operators are not measured in an engine
  // Times of operators on the backend, beside those in the engine.
  std::unique_ptr<cost::ProfiledModel> backend_costs{};
  backends::CompileOptions plan;
  bool predicts_by_kernels =
      false;  // candidates are also predicted from the kernels of their plans
};

// Errors: usage_error for names that do not exist, options that exclude each other, and rules that
// are not known well enough; unavailable where the backend cannot run here; the database's.
base::Result<Setup> prepare(const OptimizeOptions& options);

// Measures operators for the cost model where that asks for it. `setup` outlives it.
Profiler make_profiler(const Setup& setup, double budget_s);
// For Setup::backend_costs.
Profiler make_backend_profiler(const Setup& setup, double budget_s);

}  // namespace egret::driver

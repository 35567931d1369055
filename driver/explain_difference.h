// SPDX-License-Identifier: Apache-2.0
// Where two models as users run them begin to differ.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "driver/engine/engine.h"
#include "driver/measure/backend_options.h"
#include "driver/measure/first_difference.h"
#include "driver/models/read_model.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// The second of two compared models.
struct ComparedModel {
  const ModelSource& source;
  const ir::Graph& graph;          // its import, with concrete sizes
  const Engine* engine = nullptr;  // that runs the file, with more outputs; null: the backend
  BackendOptions backend{};
  std::int64_t threads = 0;
};

// first_difference() of the graph `a` and `b` as it is run. Errors: unsupported for a model with
// external data in an engine.
base::Result<std::optional<FirstDifference>> explain_difference(const ir::Graph& a,
                                                                const ComparedModel& b,
                                                                const CheckOptions& options);

}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
// How a model runs, as users say it: which backend, in which precision.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/options/option_table.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::driver {

struct BackendOptions {
  std::string backend = "cpu";
  std::string precision = "f32";
  std::int64_t seed = 1;
  std::int64_t limit_arena = 0;      // backends::CompileOptions::limit_arena
  std::vector<std::string> without;  // ablations of backends::CompileOptions
  bool checked_indices = false;      // backends::CompileOptions::checked_indices; no option

  static const base::OptionTable<BackendOptions>& table();
};

// By its name, of those that the option allows.
backends::Precision precision_of(const BackendOptions& options);

// `threads`: 0 for all. The precision must be one that the option allows.
backends::CompileOptions compile_options(const BackendOptions& options, std::int64_t threads,
                                         bool profile = false);

// Of a graph that is moved in, weights are freed as the plan gets them in another form (see
// Backend::compile_consuming()). `threads`: 0 for all. Errors: usage for an unknown backend;
// unavailable where it cannot run here; those of compiling.
base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_plan(ir::Graph graph,
                                                                     const BackendOptions& options,
                                                                     std::int64_t threads,
                                                                     bool profile = false);

}  // namespace egret::driver

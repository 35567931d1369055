// SPDX-License-Identifier: Apache-2.0
// Running a model as an argument of verbs: which backend, on which inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/options/option_table.h"
#include "base/status.h"
#include "ir/graph/graph.h"
#include "tools/console/console.h"
#include "tools/console/exit_code.h"

namespace egret::tools {

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

// Of a graph that is moved in, weights are freed as the plan gets them in another form (see
// Backend::compile_consuming()).
base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_plan(ir::Graph graph,
                                                                     const BackendOptions& options,
                                                                     Console& console,
                                                                     bool profile = false);

// kLimit, and a warning, where the plan takes more memory than --limit-arena allows.
ExitCode keeps_to_arena(const backends::ExecutablePlan& plan, const BackendOptions& options,
                        Console& console);

// "conv_1 (conv): no kernel for f16", one line a fallback, to the console's details; a note where
// the machine lacks something that would spare them.
void report_fallbacks(const backends::ExecutablePlan& plan, Console& console);

}  // namespace egret::tools

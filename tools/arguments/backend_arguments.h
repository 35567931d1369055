// SPDX-License-Identifier: Apache-2.0
// Running a model as an argument of verbs.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/measure/backend_options.h"
#include "ir/graph/graph.h"
#include "tools/console/console.h"
#include "tools/console/exit_code.h"

namespace egret::tools {

using driver::BackendOptions;
using driver::precision_of;

// driver::compile_plan() with the threads of --threads.
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

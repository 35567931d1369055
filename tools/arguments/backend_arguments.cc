// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/backend_arguments.h"

#include <utility>

#include "base/formats/units.h"

namespace egret::tools {

base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_plan(ir::Graph graph,
                                                                     const BackendOptions& options,
                                                                     Console& console,
                                                                     bool profile) {
  return driver::compile_plan(std::move(graph), options, console.options().threads, profile);
}

ExitCode keeps_to_arena(const backends::ExecutablePlan& plan, const BackendOptions& options,
                        Console& console) {
  const std::int64_t taken = plan.report().arena_bytes;
  if (options.limit_arena == 0 || taken <= options.limit_arena) return ExitCode::kOk;
  console.warning("activations take " + base::format_bytes(static_cast<double>(taken)) +
                  "; no plan within --limit-arena " +
                  base::format_bytes(static_cast<double>(options.limit_arena)) + " was found");
  return ExitCode::kLimit;
}

void report_fallbacks(const backends::ExecutablePlan& plan, Console& console) {
  const backends::PlanReport report = plan.report();
  if (!report.missing.empty()) {
    console.note(base::counted(static_cast<std::int64_t>(report.fallbacks.size()), "kernel falls",
                               "kernels fall") +
                 " back to the interpreter: " + report.missing);
  }
  for (const auto& fallback : report.fallbacks) {
    console.detail("falls back to the interpreter: " + fallback.node + " (" + fallback.op +
                   "): " + fallback.reason);
  }
}

}  // namespace egret::tools

// SPDX-License-Identifier: Apache-2.0
// Plans of training steps within a limit of memory: kernels in an order in which values are
// computed again instead of waiting in memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/formats/json.h"
#include "base/options/option_table.h"
#include "base/status.h"
#include "driver/recompute/kernel_tasks.h"
#include "extract/recompute/methods.h"
#include "ir/core/tensor.h"
#include "ir/graph/graph.h"

namespace egret::driver {

inline constexpr const char* kRecomputeTimeHelp =
    "Time limit of one search for values to compute again";
inline constexpr const char* kRecomputePricesHelp =
    "Costs of kernels in schedules. measured: a few runs of the step, under a limit of memory in a "
    "schedule within it. roofline: estimates, the same in every run";

inline constexpr const char* kOffloadToHelp =
    "Folder of a file for values: a value may be copied there and back instead of being computed "
    "again. Copies are priced as measured in the folder, one after the other with kernels";
inline constexpr const char* kOffloadRateHelp =
    "Bytes a second of copies of values out and back, instead of measured ones; 0: measured";

// Where values may leave memory to, and at which price.
struct OffloadArguments {
  std::string to;  // "": nowhere, unless a rate is given for prices alone
  std::int64_t rate = 0;

  static const base::OptionTable<OffloadArguments>& table();
  bool asked() const { return !to.empty() || rate > 0; }
};
// Prices copies of the tasks' values, if that was asked for. Errors: those of measured_storage().
base::Status price_copies(const OffloadArguments& offload, extract::RecomputeProblem& problem);

struct RecomputeArguments {
  std::string method = "search";
  double seconds = 10;
  std::string prices = "measured";
  OffloadArguments offload{};

  static const base::OptionTable<RecomputeArguments>& table();
};

// The tasks of a graph on the CPU backend. With `prices` "measured", costs are the least
// seconds of the kernels over a few runs on `inputs`, which keep all values: the memory of the step
// without a limit. Errors: those of compiling; unsupported for other
// backends without divide().
base::Result<KernelTasks> priced_tasks(const backends::Backend& backend, const ir::Graph& graph,
                                       const backends::CompileOptions& options,
                                       const std::string& prices,
                                       std::span<const ir::Tensor> inputs);

struct RecomputedPlan {
  std::unique_ptr<backends::ExecutablePlan>
      plan;  // nullptr: no schedule within the limit was found
  // Of the plan's schedule; without a plan, of the schedule within the limit of the arena.
  extract::RecomputeAnswer answer{};
  // For the schedule's values. Scratch space and gaps of the arena come on top; values that kernels
  // write over those that they read count twice.
  std::int64_t scheduled_limit = 0;
  // No schedule costs less whose values take at most options.limit_arena, as schedules count them
  // (extract::RecomputeAnswer): a plan that writes over what it reads may. Seconds, by the prices.
  double bound = 0;
  double proven_bound = 0;  // the part of it that relies on no solver's arithmetic
  std::int64_t keep_all_arena =
      0;                  // of the plan that computes each value once, in the same kernels
  double least_cost = 0;  // seconds, by the prices
  std::size_t tasks = 0;
  std::int64_t arena = 0;  // of the plan; 0: none

  bool found() const { return arena > 0; }
  // The schedule costs no more than the bound, and is one of those that the bound is of.
  bool is_proven() const {
    return found() && answer.schedule && answer.schedule->cost >= bound * (1 - 1e-9) &&
           answer.schedule->cost <= bound * (1 + 1e-9);
  }
  base::Json to_json() const;
  std::string text() const;  // of one that was found
};

// The cheapest plan found whose arena is at most options.limit_arena. The limit for the schedule is
// lowered until the arena of the compiled plan keeps to it: kernels have scratch space and copies
// in other layouts, and the arena has gaps. Then it is raised by bisection while the arena keeps to
// it, or where there is no schedule: kernels write over values that they read. Each of up to seven
// schedules may take arguments.seconds. With measured prices, the first plan found is run for them,
// so nothing that runs exceeds the limit, and the schedules are searched again. A request to stop
// ends all of it with the best plan so far. Where fused kernels need too much memory at once,
// operators are kernels by themselves. Kernels are those of the plan that keeps all values, in
// another order, so results are equal to its, bit for bit. With arguments.offload, values may also
// be copied to a file and back. Errors: those of priced_tasks(), recompute() and
// measured_storage(); unsupported where the backend stores no values.
base::Result<RecomputedPlan> compile_recomputed(const backends::Backend& backend,
                                                const ir::Graph& graph,
                                                const backends::CompileOptions& options,
                                                const RecomputeArguments& arguments,
                                                std::span<const ir::Tensor> inputs);

}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
// Plans as arguments of verbs: `egret run plan.json`, `egret train-step plan.json`.
#pragma once

#include <string>

#include "base/options/option_table.h"
#include "base/status.h"
#include "runtime/plan_run.h"
#include "tools/arguments/backend_arguments.h"
#include "tools/console/console.h"

namespace egret::tools {

// Whether the file is a plan: its name ends in .json.
bool is_plan_file(const std::string& path);
// The path of a model as a plan keeps it that is written to PLAN ("-": standard output): relative
// to the plan's folder, so that both may be used from anywhere and move together.
std::string model_path_in_plan(const std::string& model, const std::string& plan);

// `egret run --check`, `egret train-step --check`.
inline constexpr const char* kCheckHelp =
    "Compare the results with a reference run in one process; exit 6 if they differ";

inline constexpr const char* kExchangeHelp =
    "Plans on GPUs: library that exchanges values between ranks; auto takes nccl if each rank has "
    "its own GPU, otherwise mpi";
inline constexpr const char* kLimitExchangeHelp =
    "Runs on ranks: time that a rank waits for other ranks before it ends the run";

struct PlanRunOptions {
  double limit_exchange = 60;
  std::string exchange = "auto";
  std::string storage_folder{};  // no option of the table

  static const base::OptionTable<PlanRunOptions>& table();
};

// This process among the ranks of mpirun. When MPI hangs, it ends with code 8 and a message.
base::Result<runtime::Ranks> join_ranks(const BackendOptions& backend,
                                        const PlanRunOptions& options, Console& console);
// Reads the plan and starts it. Errors: of runtime::load_plan() and runtime::PlanRun::start().
base::Result<runtime::PlanRun> start_plan(const std::string& path, const runtime::Ranks& ranks,
                                          const BackendOptions& backend,
                                          const PlanRunOptions& options, Console& console);
// What to do with a failure: under mpirun says which rank it was and ends all with code 8.
base::Status rank_failed(runtime::Ranks& ranks, base::Status status, Console& console);

}  // namespace egret::tools

// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/plan_arguments.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace egret::tools {
namespace {

namespace fs = std::filesystem;

runtime::ExchangeWay way_named(const std::string& name) {
  if (name == "nccl") return runtime::ExchangeWay::kNccl;
  return name == "mpi" ? runtime::ExchangeWay::kMpi : runtime::ExchangeWay::kAuto;
}

runtime::RunOptions run_options(const BackendOptions& backend, const PlanRunOptions& options,
                                Console& console) {
  return {.backend = backend.backend,
          .precision = precision_of(backend),
          .exchange = way_named(options.exchange),
          .storage_folder = options.storage_folder,
          .warn = [&console](const std::string& message) { console.warning(message); }};
}

}  // namespace

bool is_plan_file(const std::string& path) { return path.ends_with(".json"); }

std::string model_path_in_plan(const std::string& model, const std::string& plan) {
  if (model == "-" || plan == "-" || plan.empty() || fs::path(model).is_absolute()) return model;
  std::error_code problem;
  const fs::path folder = fs::absolute(plan, problem).parent_path();
  // Links in folders are followed, as ".." does; the model itself may be one.
  const fs::path way = fs::relative(fs::absolute(model, problem).parent_path(), folder, problem);
  if (way.empty()) return model;
  return (way / fs::path(model).filename()).lexically_normal().string();
}

const base::OptionTable<PlanRunOptions>& PlanRunOptions::table() {
  using P = PlanRunOptions;
  static const base::OptionTable<P> rows{
      "plan-run",
      {{"limit-exchange", &P::limit_exchange, kLimitExchangeHelp, base::seconds()},
       {"exchange", &P::exchange, kExchangeHelp, base::one_of({"auto", "nccl", "mpi"})}}};
  return rows;
}

base::Result<runtime::Ranks> join_ranks(const BackendOptions& backend,
                                        const PlanRunOptions& options, Console& console) {
  if (backend.limit_arena > 0) {
    return base::usage_error(
        "--limit-arena cannot be combined with a plan; `egret plan --device-memory` limits the "
        "memory of a plan");
  }
  EGRET_RETURN_IF_ERROR(runtime::check_backend(run_options(backend, options, console)));
  return runtime::Ranks::join({.limit_exchange_s = options.limit_exchange,
                               .on_hang = [&console](const std::string& message) {
                                 console.error(message);
                                 std::_Exit(base::exit_code(base::StatusCode::kRankFailed));
                               }});
}

base::Result<runtime::PlanRun> start_plan(const std::string& path, const runtime::Ranks& ranks,
                                          const BackendOptions& backend,
                                          const PlanRunOptions& options, Console& console) {
  EGRET_ASSIGN_OR_RETURN(runtime::LoadedPlan plan, runtime::load_plan(path, read_input));
  for (const std::string& note : plan.notes) console.detail(note);
  return runtime::PlanRun::start(std::move(plan), ranks, run_options(backend, options, console));
}

base::Status rank_failed(runtime::Ranks& ranks, base::Status status, Console& console) {
  if (!ranks.is_distributed() || status.ok()) return status;
  console.error("rank " + std::to_string(ranks.rank()) + ": " + status.message());
  (void)console.finish();
  ranks.abort();
}

}  // namespace egret::tools

// SPDX-License-Identifier: Apache-2.0
// Runs a plan of `egret plan`: as one of mpirun's ranks, or with all ranks interpreted in this
// process. For example
//
//   const auto on_hang = [](const std::string& message) { log(message); std::_Exit(8); };
//   EGRET_ASSIGN_OR_RETURN(runtime::Ranks ranks, runtime::Ranks::join({.on_hang = on_hang}));
//   EGRET_ASSIGN_OR_RETURN(runtime::LoadedPlan plan, runtime::load_plan("plan.json"));
//   EGRET_ASSIGN_OR_RETURN(auto run, runtime::PlanRun::start(std::move(plan), ranks, {}));
//   EGRET_ASSIGN_OR_RETURN(const auto outputs, run.run(inputs));
//
// A rank that fails must call Ranks::abort(): the others wait for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "runtime/devices/device_run.h"
#include "runtime/loaded_plan.h"
#include "runtime/ranks/rank_program.h"
#include "runtime/ranks/ranks.h"

namespace egret::runtime {

// The transport between ranks. kAuto is kNccl where each rank has a GPU of its own, else kMpi.
enum class ExchangeWay : std::uint8_t { kAuto, kNccl, kMpi };

struct RunOptions {
  std::string backend = "cpu";
  backends::Precision precision = backends::Precision::kF32;
  ExchangeWay exchange = ExchangeWay::kAuto;
  // Of the files to which ranks copy what the plan keeps in storage; empty: their memory.
  std::string storage_folder{};
  // Called at the reporting rank, before start() returns.
  std::function<void(const std::string& message)> warn{};
};

// Checks that the backend exists, works here and supports the precision. Call it before ranks join.
base::Status check_backend(const RunOptions& options);

// A step, from the times of its segments and exchanges, each alone.
struct PlanPrediction {
  double compute_s = 0;   // segments one after another, each on its slowest rank
  double exchange_s = 0;  // collectives; none runs beside a segment

  double seconds() const { return compute_s + exchange_s; }
};

class PlanRun {
 public:
  // Compiles this rank's part, and exchanges with the other ranks the values that depend on
  // constants only. `ranks` outlives the run. Errors: usage_error where the number of ranks differs
  // from the mesh's; those of check_backend() and of compiling.
  static base::Result<PlanRun> start(LoadedPlan plan, const Ranks& ranks,
                                     const RunOptions& options);

  const ir::Graph& model() const { return plan_.model; }  // the sequential program
  const std::optional<ir::TrainingGraph>& training() const { return plan_.training; }
  // Whether this process reports: rank 0.
  bool reports() const { return program_.rank == 0; }
  // Inputs and outputs are the model's, whole. May be called repeatedly.
  base::Result<std::vector<ir::Tensor>> run(std::span<const ir::Tensor> inputs);

  // Training: begin() takes the step's inputs, whole. Each step() continues from the values that
  // the previous one left and returns the loss. end() returns the step's last outputs, whole, at
  // the reporting rank.
  base::Status begin(std::span<const ir::Tensor> inputs);
  // Under mpirun a step is finished also after base::stop_requested(): ranks agree on where they
  // stop.
  base::Result<double> step();
  // Whether some rank saw base::stop_requested() before the end of the last step but one (without
  // mpirun, of the last one); the same on all ranks.
  bool stopped() const { return stopped_; }
  base::Result<std::vector<ir::Tensor>> end();

  // Times segments and collectives `repetitions` times on zeros, the slowest rank each. All ranks
  // call it; all get the answer. Errors: unsupported without mpirun, for rings and copies to
  // storage, and where values stay on GPUs.
  base::Result<PlanPrediction> predict(int repetitions);

  // Frees what the run holds on a GPU and in communicators, before Ranks::leave().
  void release() { device_run_.reset(); }

 private:
  PlanRun(LoadedPlan plan, const Ranks& ranks) : plan_(std::move(plan)), ranks_(&ranks) {}
  // Writes the rank's program; exchanges the constant part first.
  base::Status write_program(const backends::Backend& backend, const RunOptions& options);
  base::Status compile(const backends::Backend& backend, const RunOptions& options);
  // Whether values stay on the ranks' GPUs and go through NCCL; if so, prepares that run.
  base::Result<bool> compile_for_devices(const backends::Backend& backend,
                                         const RunOptions& options);
  // In the order of the program's input nodes.
  std::vector<ir::Tensor> in_order_of_nodes(std::span<const ir::Tensor> inputs) const;
  base::Result<std::vector<ir::Tensor>> interpret(std::span<const ir::Tensor> own) const;
  base::Result<std::vector<ir::Tensor>> run_here(std::span<const ir::Tensor> held,
                                                 bool ends_on_stop);

  LoadedPlan plan_;
  const Ranks* ranks_;
  RankProgram program_;
  ValueStorage storage_;
  std::vector<std::unique_ptr<backends::ExecutablePlan>> plans_;  // by stage; null: no operators
  // Instead of plans_, where values stay on the ranks' GPUs.
  std::unique_ptr<DeviceRun> device_run_;

  // Training values, by input node and by output: this rank's parts, or wholes where all ranks are
  // in this process.
  std::vector<ir::Tensor> inputs_;
  std::vector<ir::Tensor> outputs_;
  bool stopped_ = false;
};

}  // namespace egret::runtime

// SPDX-License-Identifier: Apache-2.0
// `egret run plan.json` and `egret train-step plan.json`: under mpirun each process is a rank;
// otherwise all ranks are interpreted in this process.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/autodiff/training_graph.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/plan/plan_file.h"
#include "runtime/devices/device_run.h"
#include "runtime/mpi/world.h"
#include "runtime/ranks/rank_program.h"
#include "tools/arguments/backend_arguments.h"
#include "tools/arguments/model_file.h"

namespace egret::runtime {

// Whether the file is a plan: its name ends in .json.
bool is_plan_file(const std::string& path);
// The path of a model as a plan keeps it that is written to PLAN ("-": standard output): relative
// to the plan's folder, so that both may be used from anywhere and move together.
std::string model_path_in_plan(const std::string& model, const std::string& plan);

struct PlanRunOptions {
  double limit_exchange = 60;
  std::string exchange = "auto";

  static const base::OptionTable<PlanRunOptions>& table();
};

class PlanRun {
 public:
  // Reads the plan and its model, which is looked for under its path, seen from the plan's folder
  // and from the present one, and beside the plan, and joins the other ranks. From here on a rank
  // that fails ends all: see failed(). Errors: bad_input for another model; usage_error where ranks
  // are more or fewer than the mesh's.
  static base::Result<PlanRun> of(const std::string& path, const BackendOptions& backend,
                                  const PlanRunOptions& options, Console& console);

  const ir::Graph& model() const { return model_; }  // the sequential program
  const std::optional<ir::TrainingGraph>& training() const { return training_; }
  // Whether this process reports: rank 0.
  bool reports() const { return program_.rank == 0; }
  // Inputs and outputs are those of the model, whole. May be called again.
  base::Result<std::vector<ir::Tensor>> run(std::span<const ir::Tensor> inputs);

  // Of a training step: begins with these inputs of it, whole; does one step after the other, each
  // from what the last one left, and returns its loss; and what the last one left, as the outputs
  // of the step, whole, at the rank that reports.
  base::Status begin(std::span<const ir::Tensor> inputs);
  base::Result<double> step();
  base::Result<std::vector<ir::Tensor>> end();

  // Ends the work with the other ranks: what follows is this rank's own. Waits for them.
  void leave() {
    device_run_.reset();
    world_.reset();
  }
  // What to do with a failure: under mpirun says which rank it was and ends all with code 8.
  base::Status failed(base::Status status, Console& console);

 private:
  PlanRun() = default;
  base::Status load(const std::string& path, const BackendOptions& backend,
                    const PlanRunOptions& options, Console& console);
  base::Status load_model(const std::string& path, const parallel::PlanOrigin& origin,
                          Console& console);
  // With what ranks exchange of constants, which they do here.
  base::Status write_program(const BackendOptions& backend);
  base::Status compile(const BackendOptions& backend, const PlanRunOptions& options,
                       Console& console);
  // Whether values stay on the ranks' GPUs and go through NCCL; then it is ready to run.
  base::Result<bool> compile_for_devices(const backends::Backend& backend,
                                         const BackendOptions& arguments,
                                         const PlanRunOptions& options, Console& console);
  // As the program's input nodes want them.
  std::vector<ir::Tensor> in_order_of_nodes(std::span<const ir::Tensor> inputs) const;
  base::Result<std::vector<ir::Tensor>> interpret(std::span<const ir::Tensor> own) const;
  base::Result<std::vector<ir::Tensor>> run_here(std::span<const ir::Tensor> held);
  parallel::Exchange exchange() const;

  ir::Graph model_;
  std::optional<ir::TrainingGraph> training_;
  parallel::PlacedGraph placed_;
  std::unique_ptr<MpiWorld> world_;  // null: all ranks are here
  parallel::RankProgram program_;
  std::vector<std::unique_ptr<backends::Plan>> plans_;  // by stage; null: no operators
  // Instead of plans_, where values stay on the ranks' GPUs.
  std::unique_ptr<DeviceRun> device_run_;

  // Of training, by input node and by output: as this rank holds them, or whole where all are here.
  std::vector<ir::Tensor> inputs_;
  std::vector<ir::Tensor> outputs_;
};

}  // namespace egret::runtime

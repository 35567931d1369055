// SPDX-License-Identifier: Apache-2.0
// `egret run plan.json`: under mpirun each process is a rank; otherwise all ranks are interpreted
// in this process.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/mpi/world.h"
#include "base/status.h"
#include "parallel/placed_graph.h"
#include "parallel/rank_program.h"
#include "tools/backend_arguments.h"
#include "tools/model_file.h"

namespace egret::tools {

// Whether the file is a plan: its name ends in .json.
bool is_plan_file(const std::string& path);

class PlanRun {
 public:
  // Reads the plan and its model, which is looked for under its path and beside the plan, and joins
  // the other ranks. From here on a rank that fails ends all: see failed().
  // Errors: bad_input for another model; usage_error where ranks are more or fewer than the mesh's.
  static base::Result<PlanRun> of(const std::string& path, const BackendOptions& backend,
                                  double time_limit_s, Console& console);

  const ir::Graph& model() const { return model_; }  // the sequential program
  // Whether this process reports: rank 0.
  bool reports() const { return program_.rank == 0; }
  // Inputs and outputs are those of the model, whole. May be called again.
  base::Result<std::vector<ir::Tensor>> run(std::span<const ir::Tensor> inputs);
  // Ends the work with the other ranks: what follows is this rank's own. Waits for them.
  void leave() { world_.reset(); }
  // What to do with a failure: under mpirun says which rank it was and ends all with code 8.
  base::Status failed(base::Status status, Console& console);

 private:
  PlanRun() = default;
  base::Status compile(const BackendOptions& backend);

  ir::Graph model_;
  parallel::PlacedGraph placed_;
  std::unique_ptr<backends::MpiWorld> world_;  // null: all ranks are here
  parallel::RankProgram program_;
  std::vector<std::unique_ptr<backends::Plan>> plans_;  // by stage; null: no operators
};

}  // namespace egret::tools

// SPDX-License-Identifier: Apache-2.0
// A loaded plan file with its model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/formats/json.h"
#include "base/status.h"
#include "ir/autodiff/training_graph.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"

namespace egret::runtime {

struct LoadedPlan {
  ir::Graph model;  // the sequential program, constants folded
  std::optional<ir::TrainingGraph> training;
  parallel::PlacedGraph placed;
  std::vector<std::string> notes;  // from the model's importer
};

// Reads a file of at most `limit_bytes`.
using ReadFile =
    std::function<base::Result<std::string>(const std::string& path, std::int64_t limit_bytes)>;

// A plan file whose program was not read yet.
struct PlanFile {
  base::Json json;
  ir::Graph model;  // as in LoadedPlan
  std::optional<ir::TrainingGraph> training;
  std::vector<std::string> notes;
};

// The first half of load_plan(): errors are not about the program of the plan. `model`: its path,
// if it is not searched.
base::Result<PlanFile> read_plan_file(const std::string& path, const ReadFile& read = {},
                                      const std::string& model = {});
// The second half. Errors: those of parallel::read_program(); mismatch for outputs of other names
// than the model's, and where a training step carries other values to the next one than it should.
base::Result<parallel::PlacedGraph> program_of(const PlanFile& plan, const std::string& path);

// Reads the plan and its model. The model is searched relative to the plan's folder, then under its
// path as given, then beside the plan. A model called "-" is read through `read`, which by default
// reads files only. Errors: bad_input, located at the path, for a malformed plan or another model;
// those of program_of().
base::Result<LoadedPlan> load_plan(const std::string& path, const ReadFile& read = {});

}  // namespace egret::runtime

// SPDX-License-Identifier: Apache-2.0
// A plan file and the model that it was made for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/autodiff/training_graph.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"

namespace egret::runtime {

struct LoadedPlan {
  ir::Graph model;  // the sequential program, constants folded
  std::optional<ir::TrainingGraph> training;
  parallel::PlacedGraph placed;
  std::vector<std::string> notes;  // of the model's importer
};

// The bytes of a file, at most so many.
using ReadFile =
    std::function<base::Result<std::string>(const std::string& path, std::int64_t limit_bytes)>;

// Reads the plan and its model, which is looked for under its path seen from the plan's folder,
// under its path as it is, and beside the plan. A model called "-" is read through `read`, which by
// default reads files alone. Errors: bad_input, located at the path, for a malformed plan or
// another model.
base::Result<LoadedPlan> load_plan(const std::string& path, const ReadFile& read = {});

}  // namespace egret::runtime

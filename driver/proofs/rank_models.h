// SPDX-License-Identifier: Apache-2.0
// Plans as ONNX models, one for each rank, whose exchanges are nodes
// (frontends/nodes/collective_nodes.h).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "frontends/onnx.h"
#include "parallel/placed/placed_graph.h"
#include "parallel/ranks/rank_programs.h"

namespace egret::driver {

// The key of a rank's model for its mesh, "x=2,y=2".
inline constexpr const char* kMeshKey = "egret.mesh";

// A rank's model as a program, with its collectives. Errors: unsupported for other nodes that Egret
// does not define; bad_input that names a collective with attributes that it lacks.
base::Result<parallel::RankProgram> rank_program(const frontends::ImportedModel& model);

// The files of a folder that are called rankN.onnx or rank_N.onnx, N from 0 on, by rank. Errors:
// bad_input for a folder without them, where one is missing, and for two files of one rank.
base::Result<std::vector<std::string>> rank_files(const std::string& folder);
// Removes files rankN.onnx with N of `ranks` or more, which the plan of a larger mesh left in the
// folder. Errors: unavailable for a file that cannot be removed.
base::Status remove_other_ranks(const std::string& folder, std::int64_t ranks);

// Errors: unsupported for a program with rings or halos, which have no ONNX operator.
base::Status check_rank_models(const parallel::PlacedGraph& placed);
// A rank's part of a checked program as a model. `info` is that of the sequential model. Errors:
// those of check_rank_models() and of export.
base::Result<frontends::ExportedModel> rank_model(const parallel::PlacedGraph& placed,
                                                  std::int64_t rank,
                                                  const frontends::OnnxModelInfo& info);

}  // namespace egret::driver

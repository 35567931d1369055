// SPDX-License-Identifier: Apache-2.0
// How ranks share a stage of a pipeline. The planner (parallel/plan/planner.h) places the stage's
// joint graph, forward and backward, on a mesh of these ranks, so laws are the only source of
// collectives. The gradient of a parameter is carried to the parameter: both have one placement,
// and the optimizer updates each rank's blocks. Values of the boundaries stay in blocks where that
// is cheaper; block_moves.h takes them to the ranks of the next stage.
//
// The placed joint graph is then divided into passes as that of one rank is. A pass has the
// operators on parts and the collectives that its results need; a partial sum that two passes share
// stays one.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "base/formats/json.h"
#include "base/status.h"
#include "parallel/machine/cluster.h"
#include "parallel/pipeline/staged_step.h"

namespace egret::parallel {

// Strategies of the planner (parallel/plan/strategies.h) that a stage takes; "any" is searched.
inline constexpr std::array<std::string_view, 6> kStageStrategies = {"tensor", "any",    "data",
                                                                     "expert", "zero-3", "single"};

struct StagePlanOptions {
  std::string strategy = "tensor";
  double extract_time = 10;  // seconds
};

// Places the joint graph on the machine's mesh, and writes it as plan files have it
// (parallel/plan/plan_file.h). Errors: bad_input where the strategy has no plan; those of
// make_plan().
base::Result<base::Json> plan_stage(const Stage& stage, const Cluster& machine,
                                    const StagePlanOptions& options);

// The stage as the ranks of that plan share it: its node numbers are those of the placed graph. The
// plan is checked against the laws. Errors: those of read_program(); mismatch for the plan of
// another stage.
base::Result<Stage> divided_stage(const Stage& stage, const base::Json& plan);

// The optimizer on parts: each operator has the placement of an operand, as far as a law allows it.
// Inputs have the placements that PLACEMENT_OF gives. Errors: unsupported, for an operator that
// needs what other ranks hold.
base::Result<PlacedGraph> divided_update(
    const ir::Graph& update, const Mesh& mesh,
    const std::function<Placement(std::size_t input)>& placement_of);

}  // namespace egret::parallel

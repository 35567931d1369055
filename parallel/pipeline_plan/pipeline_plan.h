// SPDX-License-Identifier: Apache-2.0
// Plans of pipelines for any model: where its operators are cut into stages, the ranks that divide
// each stage, replicas, micro-batches and the schedule (Zheng et al., "Alpa", OSDI 2022).
//
// Two levels have one objective, the seconds of a step. Inside, a planner places the forward and
// backward pass of a *piece*, a run of operators, on the ranks of a stage
// (parallel/pipeline_plan/piece_prices.h). Outside, a dynamic program joins pieces to stages
// (parallel/pipeline_plan/piece_division.h), and the event simulator ranks what it finds
// (parallel/simulator/pipeline_simulation.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/progress.h"
#include "base/status.h"
#include "ir/autodiff/training_graph.h"
#include "ir/graph/graph.h"
#include "parallel/machine/cluster.h"
#include "parallel/pipeline/pipeline_layout.h"

namespace egret::parallel {

// 0, or an empty text, leaves a choice to the search.
struct PipelinePlanOptions {
  bool pipeline = false;  // plan one
  std::int64_t pipeline_stages = 0;
  std::string stage_ranks{};  // one number for all stages
  std::int64_t replicas = 0;
  std::int64_t micro_batches = 0;
  std::int64_t pieces = 24;  // at most
  double piece_time = 2;     // seconds for the placement of a piece

  static const base::OptionTable<PipelinePlanOptions>& table();
};

struct PipelineTask {
  const ir::Graph& model;  // of the whole batch, with concrete types
  const ir::TrainingOptions& training;
  double memory = 0;  // bytes of a device; 0: not limited
};

struct PlannedStage {
  std::int64_t first_rank = 0;  // of the first replica
  std::int64_t ranks = 1;       // that divide the stage
  std::size_t operators = 0;    // of the loss
  std::string first, last;      // names of its first and last operators with names
  double forward_s = 0, backward_s = 0;
  double parameter_bytes = 0;  // of a rank
};

struct PlannedPipeline {
  PipelineShape shape;  // one rank of it stands for those that divide its stages:
  std::vector<std::int64_t> stage_ranks;
  double seconds = 0;       // simulated
  double bubble = 0;        // share of the step in which the busiest rank waits
  double memory_bytes = 0;  // of the fullest rank
  std::vector<PlannedStage> stages;

  std::int64_t ranks() const;
  bool has_equal_ranks() const;  // in all stages
  bool fits(double memory) const { return memory <= 0 || memory_bytes <= memory; }
};

struct PipelinePlan {
  PlannedPipeline best;
  double bound_s = 0;                    // no pipeline of these pieces takes less
  std::vector<PlannedPipeline> ranking;  // the best for each number of stages and their ranks
  std::size_t pieces = 0;
  std::size_t placements = 0;  // pieces that were placed; equal ones count once
  std::size_t simulations = 0;
  double seconds = 0;  // spent planning
  bool interrupted = false;
};

// On base::stop_requested() the best plan so far is returned. Errors: usage, for choices without a
// pipeline on this mesh; unsupported, where the batch cannot be divided; those of staged_step() and
// make_plan(); limit, where there is no plan yet.
base::Result<PipelinePlan> plan_pipeline(const PipelineTask& task, const Cluster& machine,
                                         const PipelinePlanOptions& options,
                                         base::ProgressSink* progress = nullptr);

}  // namespace egret::parallel

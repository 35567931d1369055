// SPDX-License-Identifier: Apache-2.0
// Training on a pipeline of ranks: `egret train-step MODEL --pipeline-stages 4`.
#pragma once

#include <string>

#include "base/options/option_table.h"
#include "ir/autodiff/training_arguments.h"
#include "parallel/pipeline/stage_division.h"
#include "runtime/pipeline/pipeline_run.h"
#include "tools/arguments/backend_arguments.h"
#include "tools/arguments/plan_arguments.h"
#include "tools/console/console.h"

namespace egret::tools {

struct PipelineArguments {
  std::int64_t pipeline_stages = 0;
  std::int64_t stages_per_rank = 1;
  std::string stage_layers;
  std::string stage_operators;
  std::string stage_ranks;
  std::string stage_strategy{parallel::kStageStrategies.front()};
  std::string stage_machine = "local";
  double stage_time = parallel::StagePlanOptions().extract_time;
  std::int64_t micro_batches = 1;
  std::int64_t replicas = 1;
  bool zero_1 = false;
  parallel::PipelineKind schedule = parallel::PipelineKind::k1F1B;
  bool no_overlap = false;

  static const base::OptionTable<PipelineArguments>& table();
  // Whether the step runs on ranks.
  bool are_given() const { return pipeline_stages > 0; }
};

// Errors: usage, for options of a pipeline without --pipeline-stages, and for those that it does
// not take.
base::Status check_pipeline(const PipelineArguments& arguments, const BackendOptions& backend,
                            const PlanRunOptions& run);

// The ranks and what they compute. Errors: those of parallel::pipeline_layout(),
// runtime::plan_and_divide_stages() and runtime::PipelineRun::start(); usage, for options that do
// not go together.
base::Result<std::unique_ptr<runtime::PipelineRun>> start_pipeline(
    const ir::Graph& model, const ir::TrainingArguments& training,
    const PipelineArguments& arguments, const runtime::Ranks& ranks, const BackendOptions& backend);

// "1f1b, 4 stages on 4 ranks, 8 micro-batches"; where ranks share stages, "1f1b, 2 stages on 1 + 2
// ranks, 8 micro-batches".
std::string description_of(const parallel::PipelineLayout& layout);

}  // namespace egret::tools

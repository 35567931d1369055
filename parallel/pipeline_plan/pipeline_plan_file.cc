// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline_plan/pipeline_plan_file.h"

#include "base/formats/units.h"
#include "base/options/option_set.h"
#include "parallel/transformer/number_list.h"

namespace egret::parallel {
namespace {

// One number where all are equal.
std::string ranks_text(const PlannedPipeline& pipeline) {
  return pipeline.has_equal_ranks() ? std::to_string(pipeline.stage_ranks.front())
                                    : text_of(pipeline.stage_ranks);
}

base::Json to_json(const PlannedPipeline& pipeline) {
  base::Json json = base::Json::object();
  json.set("pipeline_stages", pipeline.shape.stages)
      .set("stages_per_rank", pipeline.shape.stages_per_rank)
      .set("stage_ranks", text_of(pipeline.stage_ranks))
      .set("replicas", pipeline.shape.replicas)
      .set("micro_batches", pipeline.shape.micro_batches)
      .set("schedule", name_of(pipeline.shape.kind))
      .set("seconds", pipeline.seconds)
      .set("idle", pipeline.bubble)
      .set("memory_bytes", pipeline.memory_bytes);
  base::Json stages = base::Json::array();
  for (const PlannedStage& stage : pipeline.stages) {
    stages.push(base::Json::object()
                    .set("first_rank", stage.first_rank)
                    .set("ranks", stage.ranks)
                    .set("operators", stage.operators)
                    .set("first", stage.first)
                    .set("last", stage.last)
                    .set("forward_s", stage.forward_s)
                    .set("backward_s", stage.backward_s)
                    .set("parameter_bytes", stage.parameter_bytes));
  }
  return json.set("stages", std::move(stages));
}

}  // namespace

std::string to_string(const PlannedPipeline& pipeline) {
  std::string text = base::counted(pipeline.shape.stages, "stage") + " of " + ranks_text(pipeline) +
                     (ranks_text(pipeline) == "1" ? " rank" : " ranks");
  if (pipeline.shape.stages_per_rank > 1)
    text += ", " + std::to_string(pipeline.shape.stages_per_rank) + " on each";
  text += ", " + base::counted(pipeline.shape.replicas, "replica") + ", " +
          base::counted(pipeline.shape.micro_batches, "micro-batch", "micro-batches");
  if (pipeline.shape.stages > 1) text += ", " + std::string(name_of(pipeline.shape.kind));
  return text;
}

base::Json to_json(const PipelinePlan& plan, const std::string& machine) {
  base::Json json = base::versioned_json();
  json.set("machine", machine)
      .set("ranks", plan.best.ranks())
      .set("plan", to_json(plan.best))
      .set("seconds", plan.best.seconds)
      .set("bound_seconds", plan.bound_s)
      .set("pieces", plan.pieces)
      .set("placements", plan.placements)
      .set("simulations", plan.simulations)
      .set("planning_seconds", plan.seconds)
      .set("interrupted", plan.interrupted);
  base::Json ranking = base::Json::array();
  for (const PlannedPipeline& one : plan.ranking) ranking.push(to_json(one));
  return json.set("ranking", std::move(ranking));
}

std::string to_toml(const PipelinePlan& plan, const ir::TrainingArguments& training,
                    const std::string& model, const std::string& machine) {
  const PlannedPipeline& best = plan.best;
  std::string text = "# A plan of `egret plan --pipeline`: " + to_string(best) + ".\n";
  text += "# " + base::format_seconds(best.seconds) + " a step, simulated; run it with\n";
  text += "#   mpirun -n " + std::to_string(best.ranks()) + " egret train-step " + model +
          " --config FILE\n";
  text += "[pipeline]\n";
  text += "pipeline-stages = " + std::to_string(best.shape.stages) + "\n";
  text += "stages-per-rank = " + std::to_string(best.shape.stages_per_rank) + "\n";
  text += "stage-operators = \"" + text_of(best.shape.stage_operators) + "\"\n";
  if (ranks_text(best) != "1") {
    text += "stage-ranks = \"" + ranks_text(best) + "\"\n";
    text += "stage-strategy = \"any\"\n";
    text += "stage-machine = " + base::Json(machine).dump() + "\n";
  }
  text += "replicas = " + std::to_string(best.shape.replicas) + "\n";
  text += "micro-batches = " + std::to_string(best.shape.micro_batches) + "\n";
  text += "schedule = \"" + std::string(name_of(best.shape.kind)) + "\"\n";
  return text + "\n" + base::table_toml(training);
}

}  // namespace egret::parallel

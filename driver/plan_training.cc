// SPDX-License-Identifier: Apache-2.0
#include "driver/plan_training.h"

#include "driver/models/training_inputs.h"
#include "parallel/simulator/overlapped_program.h"

namespace egret::driver {

base::Result<parallel::ParallelPlan> plan_training(
    const ir::Graph& model, const ir::TrainingArguments& training, const parallel::Cluster& machine,
    parallel::ParallelPlanOptions options, const std::string& name, base::ProgressSink* progress,
    const PlanFound& found) {
  EGRET_ASSIGN_OR_RETURN(const ir::TrainingGraph step, ir::training_step(model, training, name));
  parallel::PlanTask task{step.graph};
  // Those of a large model take longer to draw than the plan to find.
  if (options.limit_check > 0) {
    EGRET_ASSIGN_OR_RETURN(task.inputs, first_inputs(step));
  }
  const std::size_t parameters = step.parameters.size();
  for (std::size_t i = 0; i < step.initial.size(); ++i) {
    const ir::NodeId input = step.graph.inputs()[step.model_inputs + 1 + i];
    task.carried.push_back(
        {step.graph.node(input).name, step.graph.outputs()[1 + i].name,
         i < parameters ? parallel::LeafRole::kParameter : parallel::LeafRole::kState});
  }
  options.sharded_inputs = true;
  return parallel::make_plan(task, machine, options, progress, found);
}

void simulate_overlap(parallel::ParallelPlanOptions& options, const parallel::Cluster& machine) {
  if (!options.overlap || !machine.overlaps) return;
  options.simulate = [&machine](parallel::PlacedGraph& program, bool reorder) {
    return parallel::overlapped_seconds(program, machine, reorder);
  };
}

}  // namespace egret::driver

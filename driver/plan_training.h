// SPDX-License-Identifier: Apache-2.0
// A plan for one training step of a model.
#pragma once

#include <functional>
#include <string>

#include "base/progress.h"
#include "base/status.h"
#include "ir/autodiff/training_arguments.h"
#include "ir/graph/graph.h"
#include "parallel/plan/planner.h"

namespace egret::driver {

// Gets the plan before it is checked.
using PlanFound = std::function<void(const parallel::ParallelPlan&)>;

// Parameters and optimizer state are placed too, and inputs may arrive in blocks. `name` stands for
// the model in messages. Errors: of ir::training_step() and parallel::make_plan().
base::Result<parallel::ParallelPlan> plan_training(
    const ir::Graph& model, const ir::TrainingArguments& training, const parallel::Cluster& machine,
    parallel::ParallelPlanOptions options, const std::string& name,
    base::ProgressSink* progress = nullptr, const PlanFound& found = {});

// With OPTIONS.overlap: plans are simulated, where the machine's exchanges run beside computation.
// MACHINE outlives OPTIONS.
void simulate_overlap(parallel::ParallelPlanOptions& options, const parallel::Cluster& machine);

}  // namespace egret::driver

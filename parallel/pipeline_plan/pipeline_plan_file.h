// SPDX-License-Identifier: Apache-2.0
// A planned pipeline as JSON, and as the options of `egret train-step`.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "ir/autodiff/training_arguments.h"
#include "parallel/pipeline_plan/pipeline_plan.h"

namespace egret::parallel {

// "2 stages of 4 ranks, 2 replicas, 8 micro-batches, zb-h1".
std::string to_string(const PlannedPipeline& pipeline);

base::Json to_json(const PipelinePlan& plan, const std::string& machine);

// `mpirun -n RANKS egret train-step MODEL --config FILE` runs the step.
std::string to_toml(const PipelinePlan& plan, const ir::TrainingArguments& training,
                    const std::string& model, const std::string& machine);

}  // namespace egret::parallel

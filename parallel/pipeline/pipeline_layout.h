// SPDX-License-Identifier: Apache-2.0
// A training step on ranks: what is cut, who computes it, and whose gradients are summed. The
// executor (runtime/pipeline/) and the simulator read the same description.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "parallel/pipeline/pipeline_schedule.h"
#include "parallel/pipeline/staged_step.h"

namespace egret::parallel {

// Parameters whose gradients the same ranks sum: replicas of a stage, both directions of DualPipe,
// or stages that share a weight.
struct GradientExchange {
  std::vector<std::int64_t> ranks;   // at least two, ascending
  std::vector<std::int64_t> stages;  // that compute these gradients
  std::vector<std::size_t> parameters;
  double bytes = 0;  // of one copy of the gradients
};

// Rank r of replica d is rank d * schedule.ranks + r of all.
struct PipelineLayout {
  PipelineSchedule schedule;
  std::int64_t replicas = 1;
  StagedStep step;
  std::vector<GradientExchange> exchanges;

  std::int64_t ranks() const { return schedule.ranks * replicas; }
  // The rank of all that computes a stage for a micro-batch of a replica.
  std::int64_t rank_of(std::int64_t replica, std::int64_t stage, std::int64_t micro_batch) const {
    return replica * schedule.ranks + schedule.rank_of(stage, micro_batch);
  }
  // Stages for which a pipeline rank has passes, ascending.
  std::vector<std::int64_t> stages_of(std::int64_t rank) const;
  // The ranks of all that compute the last stage, ascending.
  std::vector<std::int64_t> loss_ranks() const;
};

// Of the stages and replicas of LAYOUT. BYTES: of the gradients of each parameter on a rank.
std::vector<GradientExchange> gradient_exchanges(const PipelineLayout& layout,
                                                 std::span<const double> bytes);

struct PipelineShape {
  PipelineKind kind = PipelineKind::k1F1B;
  std::int64_t stages = 1;  // of the whole pipeline
  std::int64_t stages_per_rank = 1;
  std::int64_t micro_batches = 1;  // of each replica
  std::int64_t replicas = 1;
  // Of each stage, in equal layers of the model; empty: stages of about equal time.
  std::vector<std::int64_t> stage_layers = {};
  // Of each stage, in operators of the loss; empty: as above.
  std::vector<std::int64_t> stage_operators = {};
};

// The part of a model that the loss reads, as all of its inputs and one output. The step of this
// model has the parameters and the state of PipelineLayout::step. Errors: usage, for an output that
// does not exist.
base::Result<ir::Graph> model_of_loss(const ir::Graph& model, const ir::TrainingOptions& training);

// `model` computes the whole batch, which replicas and micro-batches share equally. Only the output
// that the loss reads counts. Errors: those of staged_step() and pipeline_schedule(); usage, for
// stages that the ranks cannot share equally; unsupported, where an operator mixes the samples of
// the batch.
base::Result<PipelineLayout> pipeline_layout(const ir::Graph& model,
                                             const ir::TrainingOptions& training,
                                             const PipelineShape& shape, const cost::Rates& rates);

}  // namespace egret::parallel

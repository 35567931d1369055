// SPDX-License-Identifier: Apache-2.0
// A training step on ranks: what is cut, who computes it, and whose gradients are summed. The
// executor (runtime/pipeline/) and the simulator read the same description.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/formats/json.h"
#include "parallel/pipeline/pipeline_schedule.h"
#include "parallel/pipeline/staged_step.h"

namespace egret::parallel {

// Parameters whose gradients the same ranks sum: replicas of a stage, both directions of DualPipe,
// or stages that share a weight. Where ranks share stages, those with the same place in their
// groups sum their blocks.
struct GradientExchange {
  std::vector<std::int64_t> ranks;   // at least two, ascending
  std::vector<std::int64_t> stages;  // that compute these gradients
  std::vector<std::size_t> parameters;
  double bytes = 0;  // of what one rank has of the gradients
  // Where replicas divide the optimizer's state: which of the ranks updates each parameter, and
  // sends it to the others. Empty: each rank updates all.
  std::vector<std::size_t> updaters = {};
};

// A weight that stages hold in different blocks. Each list has stages that hold it alike, whose
// ranks sum its gradient as a GradientExchange; then each gets the sums of the other lists.
struct TiedParameter {
  std::size_t parameter = 0;
  std::vector<std::vector<std::int64_t>> stages;
};

// Where a rank of all stands.
struct RankPlace {
  std::int64_t replica = 0;
  std::int64_t pipeline_rank = 0;  // of PipelineSchedule
  std::int64_t place = 0;          // among those that share its stages
};

// Each rank of the schedule is a group of ranks, which share its stages (stage_division.h); most
// often a group of one. Ranks of all are numbered by replica, then by rank of the schedule, then by
// place in the group.
struct PipelineLayout {
  PipelineSchedule schedule;
  std::int64_t replicas = 1;
  std::vector<std::int64_t> group_sizes;  // by rank of the schedule
  bool divides_state = false;             // of the optimizer, among the ranks that sum gradients
  StagedStep step;
  std::vector<GradientExchange> exchanges;
  std::vector<TiedParameter> tied;

  std::int64_t ranks() const;
  bool has_groups() const;  // of more than one rank
  RankPlace place_of(std::int64_t rank) const;
  // The first rank of a group.
  std::int64_t group_begin(std::int64_t replica, std::int64_t pipeline_rank) const;
  std::int64_t group_size(std::int64_t pipeline_rank) const {
    return group_sizes[static_cast<std::size_t>(pipeline_rank)];
  }
  // Of the group that computes a stage.
  std::int64_t group_size_of(std::int64_t stage, std::int64_t micro_batch = 0) const {
    return group_size(schedule.rank_of(stage, micro_batch));
  }
  // The rank of all that computes a stage for a micro-batch of a replica, at a place of its group.
  std::int64_t rank_of(std::int64_t replica, std::int64_t stage, std::int64_t micro_batch,
                       std::int64_t place = 0) const {
    return group_begin(replica, schedule.rank_of(stage, micro_batch)) + place;
  }
  // Stages for which a rank of the schedule has passes, ascending.
  std::vector<std::int64_t> stages_of(std::int64_t pipeline_rank) const;
  // Parameters, then parameters.size() + i for state i, of a group, ascending; under which
  // placement its ranks hold one; and the rank of all that updates the share of RANK. State is held
  // as its parameter.
  std::vector<std::size_t> variables_of(std::int64_t pipeline_rank) const;
  std::int64_t updater_of(std::int64_t rank, std::size_t variable) const;
  Placement placement_of(std::int64_t pipeline_rank, std::size_t variable) const;
  // The first ranks of the groups that compute the last stage, ascending.
  std::vector<std::int64_t> loss_ranks() const;
};

// Replaces the exchanges and the tied parameters of a layout. The function gives the bytes that a
// rank has of the gradient of a parameter in a stage.
using ShareBytes = std::function<double(std::int64_t stage, std::size_t parameter)>;
void find_exchanges(PipelineLayout& layout, const ShareBytes& share_bytes);

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
  // That share the stages of each rank of the schedule: one number for all, or one for each; empty:
  // one rank each.
  std::vector<std::int64_t> stage_ranks = {};
  bool zero_1 = false;  // replicas divide the optimizer's state
};

// The part of a model that the loss reads, as all of its inputs and one output. The step of this
// model has the parameters and the state of PipelineLayout::step. Errors: usage, for an output that
// does not exist.
base::Result<ir::Graph> model_of_loss(const ir::Graph& model, const ir::TrainingOptions& training);

// `model` computes the whole batch, which replicas and micro-batches share equally. Only the output
// that the loss reads counts. Errors: those of staged_step() and pipeline_schedule(); usage, for
// stages that the ranks cannot share equally; unsupported, where an operator mixes the samples of
// the batch. Where ranks share stages, divide_stages() completes the layout.
base::Result<PipelineLayout> pipeline_layout(const ir::Graph& model,
                                             const ir::TrainingOptions& training,
                                             const PipelineShape& shape, const cost::Rates& rates);

// The stages become those of PLANS, by stage (plan_stage()); null for a stage of one rank. Errors:
// those of divided_stage(), with the stage; unsupported, for a weight of which one rank has two
// stages that hold it in different blocks.
base::Status divide_stages(PipelineLayout& layout, const std::vector<base::Json>& plans);

}  // namespace egret::parallel

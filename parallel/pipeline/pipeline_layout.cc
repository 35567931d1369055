// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/pipeline_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "parallel/plan/batch_slices.h"

namespace egret::parallel {

std::vector<GradientExchange> gradient_exchanges(const PipelineLayout& layout,
                                                 std::span<const double> bytes) {
  const std::int64_t stages = layout.schedule.stages;
  const std::int64_t last = layout.schedule.micro_batches - 1;
  std::map<std::size_t, std::set<std::int64_t>> users;  // stages, by parameter
  for (std::int64_t s = 0; s < stages; ++s) {
    for (const StageParameter& p : layout.step.stages[static_cast<std::size_t>(s)].parameters)
      users[p.parameter].insert(s);
  }
  std::map<std::vector<std::int64_t>, GradientExchange> by_stages;
  for (const auto& [parameter, where] : users) {
    std::set<std::int64_t> ranks;
    for (std::int64_t replica = 0; replica < layout.replicas; ++replica) {
      for (const std::int64_t stage : where) {
        ranks.insert(layout.rank_of(replica, stage, 0));
        ranks.insert(layout.rank_of(replica, stage, last));
      }
    }
    if (ranks.size() < 2) continue;
    GradientExchange& exchange = by_stages[{where.begin(), where.end()}];
    exchange.ranks.assign(ranks.begin(), ranks.end());
    exchange.stages.assign(where.begin(), where.end());
    exchange.parameters.push_back(parameter);
    exchange.bytes += bytes[parameter];
  }
  std::vector<GradientExchange> result;
  for (auto& [where, exchange] : by_stages) result.push_back(std::move(exchange));
  return result;
}

base::Result<ir::Graph> model_of_loss(const ir::Graph& model, const ir::TrainingOptions& training) {
  const std::string& name = training.model_output;
  ir::Graph result;
  result.copy_header(model);
  for (const ir::Node& node : model.nodes()) result.append(node);
  for (const auto& output : model.outputs()) {
    if (!name.empty() && output.name != name) continue;
    result.add_output(output.name, output.node);
    return ir::without_dead_nodes(result);
  }
  return base::usage_error("--loss-of: the model has no output '" + name + "'");
}

std::vector<std::int64_t> PipelineLayout::stages_of(std::int64_t rank) const {
  std::set<std::int64_t> found;
  for (const PipelinePass& pass : schedule.passes[static_cast<std::size_t>(rank)])
    found.insert(pass.stage);
  return {found.begin(), found.end()};
}

std::vector<std::int64_t> PipelineLayout::loss_ranks() const {
  std::set<std::int64_t> found;
  for (std::int64_t replica = 0; replica < replicas; ++replica) {
    found.insert(rank_of(replica, schedule.stages - 1, 0));
    found.insert(rank_of(replica, schedule.stages - 1, schedule.micro_batches - 1));
  }
  return {found.begin(), found.end()};
}

base::Result<PipelineLayout> pipeline_layout(const ir::Graph& model,
                                             const ir::TrainingOptions& training,
                                             const PipelineShape& shape, const cost::Rates& rates) {
  if (shape.stages % shape.stages_per_rank != 0) {
    return base::usage_error("--pipeline-stages must be a multiple of --stages-per-rank");
  }
  if (shape.stages_per_rank > 1 && shape.kind != PipelineKind::k1F1B)
    return base::usage_error("--stages-per-rank above 1 needs --schedule 1f1b");
  const std::vector<std::int64_t>& layers = shape.stage_layers;
  if (!layers.empty() && (layers.size() != static_cast<std::size_t>(shape.stages) ||
                          std::ranges::any_of(layers, [](auto count) { return count < 1; }))) {
    return base::usage_error("--stage-layers needs a number of layers for each of the " +
                             std::to_string(shape.stages) + " stages, as in 3,4,3");
  }
  if (!shape.stage_operators.empty() &&
      shape.stage_operators.size() != static_cast<std::size_t>(shape.stages)) {
    return base::usage_error("--stage-operators needs a number of operators for each of the " +
                             std::to_string(shape.stages) + " stages, as in 12,20,9");
  }
  EGRET_ASSIGN_OR_RETURN(const ir::Graph whole, model_of_loss(model, training));
  const std::int64_t parts = shape.micro_batches * shape.replicas;
  const std::optional<BatchSlices> slices = batch_slices(whole, parts);
  if (!slices) {
    return base::unsupported(
        "the model's batch cannot be divided into " + std::to_string(parts) +
        " equal micro-batches: the first axis of an input or of the output has another size, or an "
        "operator mixes the samples");
  }
  PipelineLayout layout;
  layout.replicas = shape.replicas;
  EGRET_ASSIGN_OR_RETURN(layout.schedule,
                         pipeline_schedule(shape.kind, shape.stages / shape.stages_per_rank,
                                           shape.stages_per_rank, shape.micro_batches));
  StagingOptions staging{.stages = shape.stages,
                         .stage_layers = shape.stage_layers,
                         .stage_operators = shape.stage_operators,
                         .rates = rates};
  staging.loss_scale = 1 / static_cast<double>(parts);
  EGRET_ASSIGN_OR_RETURN(layout.step, staged_step(slices->slice, training, staging));
  std::vector<double> bytes;
  for (std::size_t i = 0; i < layout.step.loss.parameters.size(); ++i)
    bytes.push_back(static_cast<double>(layout.step.loss.initial[i].bytes()));
  layout.exchanges = gradient_exchanges(layout, bytes);
  return layout;
}

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/pipeline_layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "parallel/pipeline/stage_division.h"
#include "parallel/plan/batch_slices.h"

namespace egret::parallel {
namespace {

// How stages hold a parameter: the ranks that share the stage, and the placement.
using Form = std::pair<std::int64_t, Placement>;

// Stages that read each parameter, by how they hold it. Forms are in the order of their stages.
std::map<std::size_t, std::vector<std::pair<Form, std::vector<std::int64_t>>>> users_of(
    const StagedStep& step) {
  std::map<std::size_t, std::vector<std::pair<Form, std::vector<std::int64_t>>>> users;
  for (std::size_t s = 0; s < step.stages.size(); ++s) {
    const Stage& stage = step.stages[s];
    for (const StageParameter& p : stage.parameters) {
      const Form form{stage.mesh().ranks(), stage.placement(p.node)};
      auto& forms = users[p.parameter];
      auto found = std::ranges::find(forms, form, [](const auto& one) { return one.first; });
      if (found == forms.end())
        found = forms.emplace(forms.end(), form, std::vector<std::int64_t>{});
      found->second.push_back(static_cast<std::int64_t>(s));
    }
  }
  return users;
}

// Bytes of a rank's share.
double share_bytes(const StagedStep& step, std::int64_t stage, std::size_t parameter) {
  const Stage& here = step.stages[static_cast<std::size_t>(stage)];
  const auto found = std::ranges::find(here.parameters, parameter, &StageParameter::parameter);
  const ir::TensorType& whole = step.loss.initial[parameter].type();
  return static_cast<double>(
      local_type(whole, here.placement(found->node), here.mesh()).value_or(whole).bytes());
}

// Each parameter, in turn, to the rank that updates least so far.
std::vector<std::size_t> balanced_updaters(const GradientExchange& exchange,
                                           const ShareBytes& share_bytes) {
  std::vector<double> load(exchange.ranks.size(), 0);
  std::vector<std::size_t> updaters;
  for (const std::size_t parameter : exchange.parameters) {
    const auto least = std::ranges::min_element(load);
    *least += share_bytes(exchange.stages.front(), parameter);
    updaters.push_back(static_cast<std::size_t>(least - load.begin()));
  }
  return updaters;
}

void find_own_exchanges(PipelineLayout& layout) {
  find_exchanges(layout, [&](std::int64_t stage, std::size_t parameter) {
    return share_bytes(layout.step, stage, parameter);
  });
}

// Of a state variable; none for what all parameters share.
std::optional<std::size_t> parameter_of_state(const ir::TrainingGraph& loss, std::size_t state) {
  if (state < loss.shared_state) return {};
  const std::size_t each = (loss.state.size() - loss.shared_state) / loss.parameters.size();
  return (state - loss.shared_state) / each;
}

// Of each rank of the schedule.
base::Result<std::vector<std::int64_t>> group_sizes_of(const PipelineSchedule& schedule,
                                                       const std::vector<std::int64_t>& given) {
  const auto count = static_cast<std::size_t>(schedule.ranks);
  if (given.empty()) return std::vector<std::int64_t>(count, 1);
  if (std::ranges::any_of(given, [](std::int64_t size) { return size < 1; }) ||
      (given.size() != 1 && given.size() != count)) {
    return base::usage_error("--stage-ranks needs one number of ranks, or one for each of the " +
                             std::to_string(schedule.ranks) + " ranks of the pipeline, as in 1,2");
  }
  const std::vector<std::int64_t> sizes =
      given.size() == 1 ? std::vector<std::int64_t>(count, given.front()) : given;
  for (std::size_t r = 0; r < count && schedule.kind == PipelineKind::kDualPipe; ++r) {
    if (sizes[r] != sizes[count - 1 - r]) {
      return base::usage_error(
          "--stage-ranks: with DualPipe the first and the last rank hold the same stages, and so "
          "on: their numbers must be equal");
    }
  }
  return sizes;
}

// A rank has one value of each parameter.
base::Status check_tied(const PipelineLayout& layout) {
  for (std::int64_t rank = 0; rank < layout.schedule.ranks; ++rank) {
    std::map<std::size_t, Form> forms;
    for (const std::int64_t at : layout.stages_of(rank)) {
      const Stage& stage = layout.step.stages[static_cast<std::size_t>(at)];
      for (const StageParameter& p : stage.parameters) {
        const Form form{stage.mesh().ranks(), stage.placement(p.node)};
        if (forms.try_emplace(p.parameter, form).first->second == form) continue;
        return base::unsupported("two stages of one rank hold the parameter '" +
                                 layout.step.loss.parameters[p.parameter] +
                                 "' in different blocks; another --stage-strategy may not");
      }
    }
  }
  return base::ok();
}

}  // namespace

void find_exchanges(PipelineLayout& layout, const ShareBytes& share_bytes) {
  const std::int64_t last = layout.schedule.micro_batches - 1;
  std::map<std::pair<std::vector<std::int64_t>, std::int64_t>, GradientExchange> by_stages;
  layout.exchanges.clear();
  layout.tied.clear();
  for (const auto& [parameter, forms] : users_of(layout.step)) {
    if (forms.size() > 1) {
      layout.tied.push_back({parameter, {}});
      for (const auto& [form, where] : forms) layout.tied.back().stages.push_back(where);
    }
    for (const auto& [form, where] : forms) {
      for (std::int64_t place = 0; place < form.first; ++place) {
        std::set<std::int64_t> ranks;
        for (std::int64_t replica = 0; replica < layout.replicas; ++replica) {
          for (const std::int64_t stage : where) {
            ranks.insert(layout.rank_of(replica, stage, 0, place));
            ranks.insert(layout.rank_of(replica, stage, last, place));
          }
        }
        if (ranks.size() < 2) continue;
        GradientExchange& exchange = by_stages[{where, place}];
        exchange.ranks.assign(ranks.begin(), ranks.end());
        exchange.stages = where;
        exchange.parameters.push_back(parameter);
        exchange.bytes += share_bytes(where.front(), parameter);
      }
    }
  }
  for (auto& [where, exchange] : by_stages) {
    if (layout.divides_state) exchange.updaters = balanced_updaters(exchange, share_bytes);
    layout.exchanges.push_back(std::move(exchange));
  }
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

std::int64_t PipelineLayout::ranks() const {
  return replicas * std::accumulate(group_sizes.begin(), group_sizes.end(), std::int64_t{0});
}

bool PipelineLayout::has_groups() const {
  return std::ranges::any_of(group_sizes, [](std::int64_t size) { return size > 1; });
}

std::int64_t PipelineLayout::group_begin(std::int64_t replica, std::int64_t pipeline_rank) const {
  return replica * (ranks() / replicas) +
         std::accumulate(group_sizes.begin(), group_sizes.begin() + pipeline_rank, std::int64_t{0});
}

RankPlace PipelineLayout::place_of(std::int64_t rank) const {
  RankPlace found;
  const std::int64_t each = ranks() / replicas;
  found.replica = rank / each;
  found.place = rank % each;
  while (found.place >= group_size(found.pipeline_rank))
    found.place -= group_size(found.pipeline_rank++);
  return found;
}

std::vector<std::int64_t> PipelineLayout::stages_of(std::int64_t pipeline_rank) const {
  std::set<std::int64_t> found;
  for (const PipelinePass& pass : schedule.passes[static_cast<std::size_t>(pipeline_rank)])
    found.insert(pass.stage);
  return {found.begin(), found.end()};
}

std::vector<std::size_t> PipelineLayout::variables_of(std::int64_t pipeline_rank) const {
  std::set<std::size_t> found;
  for (const std::int64_t at : stages_of(pipeline_rank)) {
    for (const StageParameter& p : step.stages[static_cast<std::size_t>(at)].parameters)
      found.insert(p.parameter);
  }
  if (found.empty()) return {};
  const std::size_t parameters = step.loss.parameters.size();
  for (std::size_t i = 0; i < step.loss.state.size(); ++i) {
    const std::optional<std::size_t> parameter = parameter_of_state(step.loss, i);
    if (!parameter || found.contains(*parameter)) found.insert(parameters + i);
  }
  return {found.begin(), found.end()};
}

std::int64_t PipelineLayout::updater_of(std::int64_t rank, std::size_t variable) const {
  const std::size_t parameters = step.loss.parameters.size();
  std::optional<std::size_t> parameter = variable;
  if (variable >= parameters) parameter = parameter_of_state(step.loss, variable - parameters);
  for (const GradientExchange& exchange : exchanges) {
    if (exchange.updaters.empty() || !parameter ||
        std::ranges::find(exchange.ranks, rank) == exchange.ranks.end()) {
      continue;
    }
    const auto found = std::ranges::find(exchange.parameters, *parameter);
    if (found == exchange.parameters.end()) continue;
    return exchange
        .ranks[exchange.updaters[static_cast<std::size_t>(found - exchange.parameters.begin())]];
  }
  return rank;
}

Placement PipelineLayout::placement_of(std::int64_t pipeline_rank, std::size_t variable) const {
  const std::size_t parameters = step.loss.parameters.size();
  std::optional<std::size_t> parameter = variable;
  if (variable >= parameters) parameter = parameter_of_state(step.loss, variable - parameters);
  const std::vector<std::int64_t> stages = stages_of(pipeline_rank);
  for (const std::int64_t at : stages) {
    const Stage& stage = step.stages[static_cast<std::size_t>(at)];
    for (const StageParameter& p : stage.parameters) {
      if (p.parameter == parameter) return stage.placement(p.node);
    }
  }
  return Placement(step.stages[static_cast<std::size_t>(stages.front())].mesh().axis_count());
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
  layout.divides_state = shape.zero_1;
  EGRET_ASSIGN_OR_RETURN(layout.schedule,
                         pipeline_schedule(shape.kind, shape.stages / shape.stages_per_rank,
                                           shape.stages_per_rank, shape.micro_batches));
  EGRET_ASSIGN_OR_RETURN(layout.group_sizes, group_sizes_of(layout.schedule, shape.stage_ranks));
  StagingOptions staging{.stages = shape.stages,
                         .stage_layers = shape.stage_layers,
                         .stage_operators = shape.stage_operators,
                         .rates = rates};
  staging.loss_scale = 1 / static_cast<double>(parts);
  EGRET_ASSIGN_OR_RETURN(layout.step, staged_step(slices->slice, training, staging));
  find_own_exchanges(layout);
  return layout;
}

base::Status divide_stages(PipelineLayout& layout, const std::vector<base::Json>& plans) {
  for (std::size_t s = 0; s < layout.step.stages.size(); ++s) {
    if (plans[s].is_null()) continue;
    const std::string where = "stage " + std::to_string(s);
    auto divided = divided_stage(layout.step.stages[s], plans[s]);
    if (!divided.ok()) return divided.status().at(where);
    const std::int64_t size = layout.group_size_of(static_cast<std::int64_t>(s));
    if (divided->mesh().ranks() != size) {
      return base::mismatch("the plan is for " + std::to_string(divided->mesh().ranks()) +
                            " ranks, not " + std::to_string(size))
          .at(where);
    }
    layout.step.stages[s] = *std::move(divided);
  }
  EGRET_RETURN_IF_ERROR(check_tied(layout));
  find_own_exchanges(layout);
  return base::ok();
}

}  // namespace egret::parallel

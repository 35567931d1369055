// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/pipeline_arguments.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/formats/units.h"
#include "parallel/machine/named_cluster.h"
#include "parallel/pipeline/pipeline_help.h"
#include "parallel/transformer/number_list.h"
#include "runtime/pipeline/stage_plans.h"

namespace egret::tools {
const base::OptionTable<PipelineArguments>& PipelineArguments::table() {
  using P = PipelineArguments;
  const auto size = base::range(1, 1e4);
  static const base::OptionTable<P> rows{
      "pipeline",
      {{"pipeline-stages", &P::pipeline_stages, parallel::kPipelineStagesHelp, base::range(0, 1e4)},
       {"stages-per-rank", &P::stages_per_rank,
        "Stages of each rank of the pipeline; above 1 the schedule is interleaved", size},
       {"stage-layers", &P::stage_layers,
        "Layers of each chunk of the pipeline, as 3,4,3 (default: balanced)"},
       {"stage-operators", &P::stage_operators,
        "Operators of the loss in each stage, in topological order, as `egret plan --pipeline` "
        "writes them"},
       {"stage-ranks", &P::stage_ranks, parallel::kStageRanksHelp},
       {"stage-strategy", &P::stage_strategy,
        "Strategy by which ranks share a stage, as `egret plan` knows them; any: searched",
        base::one_of({parallel::kStageStrategies.begin(), parallel::kStageStrategies.end()})},
       {"stage-machine", &P::stage_machine,
        "Machine for which shared stages are planned: a preset or a file, as for `egret plan`"},
       {"stage-time", &P::stage_time, "Time limit for the plan of a shared stage", base::seconds()},
       {"micro-batches", &P::micro_batches, parallel::kMicroBatchesHelp, size},
       {"replicas", &P::replicas, parallel::kReplicasHelp, size},
       {"zero-1", &P::zero_1,
        "Replicas divide the optimizer's state; each parameter is updated once, and sent"},
       {"schedule", &P::schedule, "Schedule of the pipeline",
        base::one_of({parallel::kScheduleNames.begin(), parallel::kScheduleNames.end()})},
       {"no-overlap", &P::no_overlap,
        "Move messages only while a rank waits for one, not while it computes"}}};
  return rows;
}

base::Status check_pipeline(const PipelineArguments& arguments, const BackendOptions& backend,
                            const PlanRunOptions& run) {
  const PipelineArguments plain;
  const std::pair<const char*, bool> of_pipelines[] = {
      {"--stages-per-rank", arguments.stages_per_rank != plain.stages_per_rank},
      {"--stage-layers", !arguments.stage_layers.empty()},
      {"--stage-operators", !arguments.stage_operators.empty()},
      {"--stage-ranks", !arguments.stage_ranks.empty()},
      {"--stage-strategy", arguments.stage_strategy != plain.stage_strategy},
      {"--stage-machine", arguments.stage_machine != plain.stage_machine},
      {"--stage-time", arguments.stage_time != plain.stage_time},
      {"--micro-batches", arguments.micro_batches != plain.micro_batches},
      {"--replicas", arguments.replicas != plain.replicas},
      {"--zero-1", arguments.zero_1},
      {"--schedule", arguments.schedule != plain.schedule},
      {"--no-overlap", arguments.no_overlap}};
  const std::pair<const char*, bool> of_others[] = {{"--limit-arena", backend.limit_arena > 0},
                                                    {"--without", !backend.without.empty()},
                                                    {"--exchange", run.exchange != "auto"}};
  for (const auto& [flag, is_given] : of_pipelines) {
    if (is_given && !arguments.are_given())
      return base::usage_error(std::string(flag) + " needs --pipeline-stages");
  }
  const bool divides_nothing = arguments.stage_ranks.empty() || arguments.stage_ranks == "1";
  for (const auto& [flag, is_given] : {of_pipelines[3], of_pipelines[4], of_pipelines[5]}) {
    if (is_given && divides_nothing)
      return base::usage_error(std::string(flag) + " needs --stage-ranks above 1");
  }
  for (const auto& [flag, is_given] : of_others) {
    if (is_given && arguments.are_given())
      return base::usage_error(std::string(flag) + " cannot be combined with --pipeline-stages");
  }
  return base::ok();
}

base::Result<std::unique_ptr<runtime::PipelineRun>> start_pipeline(
    const ir::Graph& model, const ir::TrainingArguments& training,
    const PipelineArguments& arguments, const runtime::Ranks& ranks,
    const BackendOptions& backend) {
  EGRET_ASSIGN_OR_RETURN(const parallel::Cluster local, parallel::cluster_called("local"));
  const auto stage_layers = parallel::numbers_of(arguments.stage_layers);
  if (!stage_layers)
    return base::usage_error("--stage-layers needs numbers between commas, as in 3,4,3");
  const auto stage_operators = parallel::numbers_of(arguments.stage_operators);
  if (!stage_operators)
    return base::usage_error("--stage-operators needs numbers between commas, as in 12,20,9");
  if (!stage_layers->empty() && !stage_operators->empty())
    return base::usage_error("--stage-operators cannot be combined with --stage-layers");
  const auto stage_ranks = parallel::numbers_of(arguments.stage_ranks);
  if (!stage_ranks)
    return base::usage_error("--stage-ranks needs a number, or numbers between commas, as in 1,2");
  const parallel::PipelineShape shape{.kind = arguments.schedule,
                                      .stages = arguments.pipeline_stages,
                                      .stages_per_rank = arguments.stages_per_rank,
                                      .micro_batches = arguments.micro_batches,
                                      .replicas = arguments.replicas,
                                      .stage_layers = *stage_layers,
                                      .stage_operators = *stage_operators,
                                      .stage_ranks = *stage_ranks,
                                      .zero_1 = arguments.zero_1};
  EGRET_ASSIGN_OR_RETURN(parallel::PipelineLayout layout,
                         parallel::pipeline_layout(model, training.options(), shape, local.rates));
  EGRET_RETURN_IF_ERROR(runtime::check_ranks(layout, ranks));
  EGRET_ASSIGN_OR_RETURN(const parallel::Cluster machine,
                         parallel::cluster_called(arguments.stage_machine));
  EGRET_RETURN_IF_ERROR(runtime::plan_and_divide_stages(
      layout, machine, {.strategy = arguments.stage_strategy, .extract_time = arguments.stage_time},
      ranks));
  return runtime::PipelineRun::start(std::move(layout), training.options(), ranks,
                                     {.backend = backend.backend,
                                      .precision = precision_of(backend),
                                      .overlap = !arguments.no_overlap});
}

std::string description_of(const parallel::PipelineLayout& layout) {
  const parallel::PipelineSchedule& schedule = layout.schedule;
  std::string text(parallel::name_of(schedule.kind));
  std::string ranks = base::counted(schedule.ranks, "rank");
  if (layout.has_groups()) {
    ranks.clear();
    for (const std::int64_t size : layout.group_sizes)
      ranks += (ranks.empty() ? "" : " + ") + std::to_string(size);
    ranks += " ranks";
  }
  text += ", " + base::counted(schedule.stages, "stage") + " on " + ranks + ", " +
          base::counted(schedule.micro_batches, "micro-batch", "micro-batches");
  if (layout.replicas > 1) text += ", " + base::counted(layout.replicas, "replica");
  if (layout.divides_state) text += ", ZeRO-1";
  return text;
}

}  // namespace egret::tools

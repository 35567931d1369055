// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/cluster_plan_file.h"

#include <algorithm>
#include <string_view>

#include "base/formats/units.h"
#include "base/options/option_set.h"

namespace egret::parallel {
namespace {

ChunkLayers sum_of(const PlannedStep& step) {
  ChunkLayers sum;
  for (const ChunkLayers& chunk : step.chunks) {
    sum.kept += chunk.kept;
    sum.selective += chunk.selective;
    sum.full += chunk.full;
  }
  return sum;
}

base::Json to_json(const StageDegrees& stage) {
  return base::Json::object()
      .set("devices", stage.devices())
      .set("first_device", stage.first_device)
      .set("tp", stage.tensor)
      .set("cp", stage.context)
      .set("dp", stage.data);
}

base::Json to_json(const PlannedStep& step) {
  const PlanFrame& frame = step.frame;
  base::Json json = base::Json::object();
  json.set("tp", frame.tensor)
      .set("sequence_parallel", frame.sequence_parallel)
      .set("cp", frame.context)
      .set("pp", frame.pipeline)
      .set("vpp", frame.virtual_stages)
      .set("dp", frame.data)
      .set("ep", frame.expert_parallel)
      .set("expert_tp", frame.expert_tensor)
      .set("micro_batch", frame.micro_batch)
      .set("schedule", name_of(frame.schedule))
      .set("zero", frame.zero)
      .set("offload", name_of(frame.offload))
      .set("seconds", step.seconds)
      .set("bound_seconds", step.bound_s)
      .set("mfu", step.mfu)
      .set("fits", step.fits())
      .set("peak_bytes", step.most_bytes())
      .set("host_peak_bytes", step.host_bytes);
  base::Json uses = base::Json::object();
  for (std::size_t use = 0; use < step.uses.size(); ++use)
    uses.set(kTimeUseNames[use], step.uses[use]);
  json.set("time", std::move(uses));
  base::Json chunks = base::Json::array();
  for (const ChunkLayers& chunk : step.chunks) {
    chunks.push(base::Json::object()
                    .set("layers", chunk.all())
                    .set("full", chunk.full)
                    .set("selective", chunk.selective));
  }
  json.set("chunks", std::move(chunks));
  if (frame.stages.empty()) return json;
  base::Json stages = base::Json::array();
  for (const StageDegrees& stage : frame.stages) stages.push(to_json(stage));
  return json.set("stages", std::move(stages));
}

}  // namespace

std::string layers_text(const PlannedStep& step) {
  const bool equal = std::ranges::all_of(step.chunks, [&](const ChunkLayers& chunk) {
    return chunk.all() == step.chunks.front().all();
  });
  std::string text;
  for (const ChunkLayers& chunk : step.chunks) {
    text += (text.empty() ? "" : ",") + std::to_string(chunk.all());
    if (equal) break;
  }
  return text;
}

std::string recomputation_text(const PlannedStep& step) {
  const ChunkLayers sum = sum_of(step);
  if (sum.full == sum.all()) return "full";
  if (sum.selective == sum.all()) return "selective";
  if (sum.full + sum.selective == 0) return "none";
  std::string text;
  if (sum.full > 0) text = std::to_string(sum.full) + " full";
  if (sum.selective > 0)
    text += (text.empty() ? "" : ", ") + std::to_string(sum.selective) + " selective";
  return text + " of " + base::counted(sum.all(), "layer");
}

base::Json to_json(const ClusterPlan& plan, const std::string& machine) {
  base::Json json = base::versioned_json();
  json.set("machine", machine)
      .set("devices", plan.best.frame.devices())
      .set("parameters", plan.setup.model_parameters())
      .set("plan", to_json(plan.best))
      .set("seconds", plan.best.seconds)
      .set("mfu", plan.best.mfu)
      .set("bound_seconds", plan.bound_s)
      .set("gap", plan.gap())
      .set("planning_seconds", plan.seconds)
      .set("stop_reason", plan.stop_reason)
      .set("search", base::Json::object()
                         .set("frames", plan.counts.frames)
                         .set("partitions", plan.counts.partitions)
                         .set("simulations", plan.counts.simulations)
                         .set("rounds", plan.counts.rounds)
                         .set("groups", plan.counts.groups));
  base::Json ranking = base::Json::array();
  for (const PlannedStep& step : plan.ranking) ranking.push(to_json(step));
  json.set("ranking", std::move(ranking));
  base::Json baselines = base::Json::object();
  for (const PlannedBaseline& baseline : plan.baselines) {
    if (baseline.exists) baselines.set(baseline.name, to_json(baseline.step));
  }
  json.set("baselines", std::move(baselines));
  base::Json runners = base::Json::array();
  for (const ChoiceRunnerUp& one : plan.runners_up) {
    runners.push(base::Json::object()
                     .set("choice", one.choice)
                     .set("value", one.value)
                     .set("other", one.other)
                     .set("plan", to_json(one.step)));
  }
  if (!plan.runners_up.empty()) json.set("runners_up", std::move(runners));
  return json;
}

std::string to_toml(const ClusterPlan& plan, const std::string& machine) {
  std::string text = "# A plan of `egret plan`: " + to_string(plan.best.frame) + ".\n";
  text += "# " + base::format_seconds(plan.best.seconds) + " a step, simulated; repeat it with\n";
  text += "#   egret simulate --config FILE\n";
  text += "[simulate-system]\nsystem = " + base::Json(machine).dump() + "\n";
  text += "\n" + base::table_toml(plan.setup) + "\n" + base::table_toml(plan.options);
  return text;
}

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/offload_plan_file.h"

#include "base/formats/units.h"
#include "base/options/option_set.h"

namespace egret::parallel {
namespace {

base::Json places_json(const Fractions& fractions, Value value) {
  base::Json json = base::Json::object();
  for (const Place place : kPlaces)
    json.set(kPlaceNames[static_cast<std::size_t>(place)], fractions.at(value, place));
  return json;
}

base::Json policy_json(const OffloadPolicy& policy) {
  const Fractions fractions = policy.placement.fractions();
  base::Json json = base::Json::object();
  json.set("tokens_per_second", policy.tokens_per_s)
      .set("seconds", policy.run.seconds)
      .set("prefill_seconds", policy.run.prefill_s)
      .set("decode_step_seconds", policy.run.decode_step_s)
      .set("priced_seconds", policy.priced_s)
      .set("gpu_batch", policy.choice.batch)
      .set("gpu_batches", policy.choice.batches)
      .set("cpu_attention", policy.choice.cpu_attention)
      .set("overlaps", policy.choice.overlaps)
      .set("prefill_bound_by", kResourceNames[static_cast<std::size_t>(policy.busiest(false))])
      .set("decode_bound_by", kResourceNames[static_cast<std::size_t>(policy.busiest(true))]);
  for (const Value value : kValues)
    json.set(kValueNames[static_cast<std::size_t>(value)], places_json(fractions, value));
  base::Json peaks = base::Json::object(), busy = base::Json::object();
  for (std::size_t p = 0; p < policy.peak_bytes.size(); ++p)
    peaks.set(kPlaceNames[p], policy.peak_bytes[p]);
  for (std::size_t r = 0; r < policy.run.busy_s.size(); ++r)
    busy.set(kResourceNames[r], policy.run.busy_s[r]);
  json.set("peak_bytes", std::move(peaks)).set("busy_seconds", std::move(busy));
  // By layer, the last one is the output layer.
  base::Json layers = base::Json::array();
  for (const auto& bytes : policy.placement.layers) {
    base::Json layer = base::Json::array();
    for (const double one : bytes) layer.push(one);
    layers.push(std::move(layer));
  }
  json.set("weight_bytes_by_layer", std::move(layers));
  return json;
}

base::Json policy_json(const ExpertPolicy& policy) {
  base::Json resident = base::Json::array();
  for (const std::int64_t one : policy.resident) resident.push(one);
  return base::Json::object()
      .set("tokens_per_second", policy.speed.tokens_per_s)
      .set("seconds", policy.speed.seconds)
      .set("prefill_seconds", policy.speed.prefill_s)
      .set("decode_step_seconds", policy.speed.decode_step_s)
      .set("experts_copied", policy.speed.copied)
      .set("experts_on_cores", policy.speed.on_cores)
      .set("experts_active", policy.speed.active)
      .set("accelerator_bytes", policy.device_bytes)
      .set("host_bytes", policy.host_bytes)
      .set("fits", policy.exists)
      .set("resident_experts_by_layer", std::move(resident));
}

}  // namespace

base::Json to_json(const OffloadPlan& plan, const std::string& machine) {
  base::Json json = base::versioned_json();
  json.set("machine", machine)
      .set("parameters", plan.setup.model_parameters())
      .set("tokens_per_second", plan.best.tokens_per_s)
      .set("seconds", plan.best.run.seconds)
      .set("bound_tokens_per_second", plan.bound_tokens_per_s)
      .set("gap", plan.gap())
      .set("plan", policy_json(plan.best))
      .set("planning_seconds", plan.seconds)
      .set("stop_reason", plan.stop_reason)
      .set("search", base::Json::object()
                         .set("blocks", plan.counts.choices)
                         .set("programs", plan.counts.programs)
                         .set("simulations", plan.counts.simulations));
  base::Json ranking = base::Json::array();
  for (const OffloadPolicy& policy : plan.ranking) ranking.push(policy_json(policy));
  json.set("ranking", std::move(ranking));
  base::Json rules = base::Json::object();
  for (const OffloadRule& rule : plan.rules) {
    if (rule.policy) rules.set(rule.name, policy_json(*rule.policy));
  }
  json.set("baselines", std::move(rules));
  base::Json runners = base::Json::array();
  for (const OffloadRunnerUp& one : plan.runners_up) {
    runners.push(base::Json::object()
                     .set("choice", one.choice)
                     .set("value", one.value)
                     .set("other", one.other)
                     .set("plan", policy_json(one.policy)));
  }
  if (!plan.runners_up.empty()) json.set("runners_up", std::move(runners));
  return json;
}

base::Json to_json(const ExpertPlan& plan, const std::string& machine) {
  base::Json json = base::versioned_json();
  json.set("machine", machine)
      .set("parameters", plan.setup.model_parameters())
      .set("tokens_per_second", plan.best.speed.tokens_per_s)
      .set("seconds", plan.best.speed.seconds)
      .set("batch", plan.batch)
      .set("experts_on_accelerator", plan.slots)
      .set("expert_bytes", plan.expert_bytes)
      .set("copy_seconds", plan.copy_s)
      .set("cores_seconds", plan.cores_s)
      .set("copy_from_tokens", plan.crossover)
      .set("plan", policy_json(plan.best))
      .set("planning_seconds", plan.seconds);
  base::Json rules = base::Json::object();
  for (const ExpertPolicy& rule : plan.rules) rules.set(rule.name, policy_json(rule));
  return json.set("baselines", std::move(rules));
}

std::string to_toml(const OffloadPlan& plan, const std::string& machine) {
  GenerationSetup setup = plan.setup;
  setup.gpu_batch = plan.best.choice.batch;
  setup.gpu_batches = plan.best.choice.batches;
  setup.cpu_attention = plan.best.choice.cpu_attention ? CpuAttention::kOn : CpuAttention::kOff;
  std::string text = "# A plan of `egret offload`: " + to_string(plan.best.choice) + ".\n";
  const Fractions fractions = plan.best.placement.fractions();
  for (const Value value : kValues) {
    text += "# " + std::string(kValueNames[static_cast<std::size_t>(value)]) + ": " +
            places_text(fractions, value) + "\n";
  }
  text += "# " + base::format_short(plan.best.tokens_per_s) +
          " tokens/s, simulated; find it again with\n#   egret offload --config FILE\n";
  text += "[offload-machine]\nmachine = " + base::Json(machine).dump() + "\n\n";
  return text + base::table_toml(setup);
}

}  // namespace egret::parallel

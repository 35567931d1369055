// SPDX-License-Identifier: Apache-2.0
#include "driver/report/offload_plan_text.h"

#include <algorithm>
#include <cmath>

#include "base/formats/text_table.h"
#include "base/formats/units.h"

namespace egret::driver {
namespace {

using base::Align;
using parallel::OffloadPolicy;
using parallel::Place;
using parallel::Value;

std::string signed_text(double value, std::string text) {
  return (value < 0 ? "-" : "+") + std::move(text);
}
std::string signed_seconds(double seconds) {
  return signed_text(seconds, base::format_seconds(std::abs(seconds)));
}
std::string signed_bytes(double bytes) {
  return signed_text(bytes, base::format_bytes(std::abs(bytes)));
}

std::string busy_text(const OffloadPolicy& policy, bool decoding) {
  const auto r = static_cast<std::size_t>(policy.busiest(decoding));
  const double all = decoding ? policy.run.seconds - policy.run.prefill_s : policy.run.prefill_s;
  const double busy = decoding ? policy.run.decode_busy_s[r] : policy.run.prefill_busy_s[r];
  return std::string(parallel::kResourceNames[r]) + " (busy " +
         base::format_percent(all > 0 ? std::min(1.0, busy / all) : 0) + ")";
}

base::TextTable places_table(const OffloadPolicy& policy, const parallel::HostedSystem& system) {
  base::TextTable table({{"place"},
                         {"weights", Align::kRight},
                         {"tensors", Align::kRight},
                         {"cache", Align::kRight},
                         {"activations", Align::kRight},
                         {"memory at the peak", Align::kRight},
                         {"of", Align::kRight}});
  const parallel::Fractions fractions = policy.placement.fractions();
  const std::array<double, 3> limits = {
      system.accelerator.memory_bytes - system.accelerator.reserved_bytes,
      system.host->usable_bytes(), system.host->disk_bytes};
  for (const Place place : parallel::kPlaces) {
    const auto p = static_cast<std::size_t>(place);
    if (limits[p] <= 0) continue;
    table.row({std::string(parallel::kPlaceNames[p]),
               base::format_percent(fractions.at(Value::kWeights, place)),
               std::to_string(policy.placement.tensors[p]),
               base::format_percent(fractions.at(Value::kCache, place)),
               base::format_percent(fractions.at(Value::kActivations, place)),
               base::format_bytes(policy.peak_bytes[p]), base::format_bytes(limits[p])});
  }
  return table;
}

base::TextTable busy_table(const OffloadPolicy& policy) {
  base::TextTable table({{"resource"}, {"busy", Align::kRight}, {"part", Align::kRight}});
  for (std::size_t r = 0; r < policy.run.busy_s.size(); ++r) {
    if (policy.run.busy_s[r] <= 0) continue;
    table.row({std::string(parallel::kResourceNames[r]), base::format_seconds(policy.run.busy_s[r]),
               base::format_percent(policy.run.busy_s[r] / policy.run.seconds)});
  }
  return table;
}

base::TextTable policies_table(const parallel::OffloadPlan& plan) {
  base::TextTable table({{"plan"},
                         {"tokens/s", Align::kRight},
                         {"prefill", Align::kRight},
                         {"token step", Align::kRight},
                         {"weights"},
                         {"cache"},
                         {"activations"},
                         {"block"}});
  const auto add = [&](const std::string& name, const OffloadPolicy& policy) {
    const parallel::Fractions fractions = policy.placement.fractions();
    table.row({name, base::format_short(policy.tokens_per_s),
               base::format_seconds(policy.run.prefill_s),
               base::format_seconds(policy.run.decode_step_s),
               parallel::places_text(fractions, Value::kWeights),
               parallel::places_text(fractions, Value::kCache),
               parallel::places_text(fractions, Value::kActivations), to_string(policy.choice)});
  };
  for (std::size_t i = 0; i < plan.ranking.size(); ++i) add(std::to_string(i + 1), plan.ranking[i]);
  if (!plan.rules.empty()) table.rule();
  for (const parallel::OffloadRule& rule : plan.rules) {
    if (rule.policy) {
      add(rule.name, *rule.policy);
    } else {
      table.row({rule.name, "", "", "", "does not fit"});
    }
  }
  return table;
}

base::TextTable runners_up_table(const parallel::OffloadPlan& plan) {
  base::TextTable table({{"choice"},
                         {"value"},
                         {"next best"},
                         {"tokens/s", Align::kRight},
                         {"1000 tokens", Align::kRight},
                         {"accelerator", Align::kRight},
                         {"host", Align::kRight},
                         {"decoding bound by"},
                         {"its block"}});
  const OffloadPolicy& best = plan.best;
  for (const parallel::OffloadRunnerUp& one : plan.runners_up) {
    const OffloadPolicy& other = one.policy;
    table.row({one.choice, one.value, one.other, base::format_short(other.tokens_per_s),
               signed_seconds(1000 / other.tokens_per_s - 1000 / best.tokens_per_s),
               signed_bytes(other.peak_bytes[0] - best.peak_bytes[0]),
               signed_bytes(other.peak_bytes[1] - best.peak_bytes[1]), busy_text(other, true),
               to_string(other.choice)});
  }
  return table;
}

std::string stop_text(const std::string& reason) {
  if (reason == "bound") return "no block was left";
  if (reason == "simulations") return "--limit-simulations was reached";
  return "interrupted";
}

}  // namespace

std::string offload_plan_text(const parallel::OffloadPlan& plan,
                              const parallel::HostedSystem& system) {
  const OffloadPolicy& best = plan.best;
  const bool decodes = plan.setup.output_tokens > 1;
  std::string text = base::format_short(best.tokens_per_s) + " tokens/s of " +
                     base::format_short(plan.setup.model_parameters() / 1e9) +
                     " billion parameters on " + system.name + "; the bound is " +
                     base::format_percent(plan.gap()) + " more\n";
  text += "bound by " + busy_text(best, false) + " in the prefill" +
          (decodes ? ", by " + busy_text(best, true) + " in decoding" : "") + "\n";
  text +=
      to_string(best.choice) + "; " + base::counted(best.choice.sequences(), "prompt") + " in " +
      base::format_seconds(best.run.prefill_s) +
      (decodes ? ", then " + base::format_seconds(best.run.decode_step_s) + " for a token of each"
               : "") +
      "\n\n";
  text += places_table(best, system).render() + "\n" + busy_table(best).render() + "\n" +
          policies_table(plan).render();
  if (!plan.runners_up.empty()) text += "\n" + runners_up_table(plan).render();
  text += "\nplanned in " + base::format_seconds(plan.seconds) + ": " +
          base::counted(plan.counts.choices, "block") + ", " +
          base::counted(plan.counts.programs, "linear program") + ", " +
          base::counted(plan.counts.simulations, "simulation") + "; " +
          stop_text(plan.stop_reason) + "\n";
  return text;
}

std::string expert_plan_text(const parallel::ExpertPlan& plan,
                             const parallel::HostedSystem& system) {
  const parallel::ExpertPolicy& best = plan.best;
  const auto all = plan.setup.layers * plan.setup.experts;
  std::string text = base::format_short(best.speed.tokens_per_s) + " tokens/s of " +
                     base::format_short(plan.setup.model_parameters() / 1e9) +
                     " billion parameters on " + system.name + "; " +
                     std::to_string(std::min(plan.slots, all)) + " of " +
                     base::counted(all, "expert") + " on the accelerator\n";
  text += "first token after " + base::format_seconds(best.speed.prefill_s) + ", then " +
          base::format_seconds(best.speed.decode_step_s) + " a token\n";
  text += "an expert: " + base::format_bytes(plan.expert_bytes) + ", copied in " +
          base::format_seconds(plan.copy_s) + ", " + base::format_seconds(plan.cores_s) +
          " on the cores for one token; " +
          (plan.crossover > 0
               ? "copying takes less from " + base::counted(plan.crossover, "token") + " on"
               : std::string("copying never takes less")) +
          "\n\n";
  base::TextTable table({{"plan"},
                         {"tokens/s", Align::kRight},
                         {"first token", Align::kRight},
                         {"token", Align::kRight},
                         {"copied", Align::kRight},
                         {"on the cores", Align::kRight},
                         {"active", Align::kRight},
                         {"accelerator", Align::kRight},
                         {"host", Align::kRight},
                         {"method"}});
  const auto add = [&](const parallel::ExpertPolicy& policy) {
    const parallel::ExpertSpeed& speed = policy.speed;
    table.row({policy.name, base::format_short(speed.tokens_per_s),
               base::format_seconds(speed.prefill_s), base::format_seconds(speed.decode_step_s),
               base::format_short(speed.copied), base::format_short(speed.on_cores),
               base::format_short(speed.active), base::format_bytes(policy.device_bytes),
               base::format_bytes(policy.host_bytes),
               policy.method + (policy.exists ? "" : " (does not fit)")});
  };
  add(best);
  table.rule();
  for (const parallel::ExpertPolicy& rule : plan.rules) add(rule);
  text += table.render();
  text += "\nexperts of each layer on the accelerator: ";
  for (std::size_t i = 0; i < best.resident.size(); ++i)
    text += (i > 0 ? "," : "") + std::to_string(best.resident[i]);
  return text + "\nexperts are those of a decoding step, expected\n";
}

}  // namespace egret::driver

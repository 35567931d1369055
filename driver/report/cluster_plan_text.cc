// SPDX-License-Identifier: Apache-2.0
#include "driver/report/cluster_plan_text.h"

#include <cmath>
#include <utility>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "parallel/cluster_plan/cluster_plan_file.h"

namespace egret::driver {
namespace {

using base::Align;
using parallel::ChunkLayers;
using parallel::PlannedStep;
using parallel::TimeUse;

std::string with_sign(double value, std::string text) {
  return (value < 0 ? "-" : "+") + std::move(text);
}

std::string signed_seconds(double seconds) {
  return with_sign(seconds, base::format_seconds(std::abs(seconds)));
}

std::string signed_bytes(double bytes) {
  return with_sign(bytes, base::format_bytes(std::abs(bytes)));
}

double sum(const PlannedStep& step, std::initializer_list<TimeUse> uses) {
  double seconds = 0;
  for (const TimeUse use : uses) seconds += step.uses[static_cast<std::size_t>(use)];
  return seconds;
}

// "0-7, A100-SXM-80GB".
std::string devices_text(const parallel::System& system, const parallel::StageDegrees& stage) {
  const std::int64_t last = stage.first_device + stage.devices() - 1;
  std::string text = std::to_string(stage.first_device);
  if (stage.devices() > 1) text += "-" + std::to_string(last);
  if (system.pools.size() < 2) return text;
  const std::size_t pool = system.slowest_pool(stage.first_device, stage.devices());
  return text + ", " + system.pools[pool].accelerator.name;
}

base::TextTable stages_table(const PlannedStep& step, const parallel::System& system) {
  base::TextTable table({{"rank"},
                         {"devices"},
                         {"tp", Align::kRight},
                         {"cp", Align::kRight},
                         {"dp", Align::kRight},
                         {"layers", Align::kRight},
                         {"recomputed in full", Align::kRight},
                         {"attention only", Align::kRight},
                         {"memory", Align::kRight},
                         {"left", Align::kRight}});
  const std::size_t ranks = step.peak_bytes.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    ChunkLayers layers;
    for (std::int64_t k = 0; k < step.frame.chunks_of_rank(); ++k) {
      const auto chunk =
          static_cast<std::size_t>(step.frame.chunk_of(static_cast<std::int64_t>(rank), k));
      layers.kept += step.chunks[chunk].kept;
      layers.selective += step.chunks[chunk].selective;
      layers.full += step.chunks[chunk].full;
    }
    const parallel::StageDegrees stage = step.frame.stage(static_cast<std::int64_t>(rank));
    table.row({std::to_string(rank), devices_text(system, stage), std::to_string(stage.tensor),
               std::to_string(stage.context), std::to_string(stage.data),
               std::to_string(layers.all()), std::to_string(layers.full),
               std::to_string(layers.selective), base::format_bytes(step.peak_bytes[rank]),
               base::format_bytes(-step.excess_bytes[rank])});
  }
  return table;
}

base::TextTable steps_table(const parallel::ClusterPlan& plan) {
  base::TextTable table({{"plan"},
                         {"step", Align::kRight},
                         {"MFU", Align::kRight},
                         {"memory", Align::kRight},
                         {"", Align::kLeft},
                         {"layers"},
                         {"recomputed"},
                         {"choices"}});
  const auto add = [&](const std::string& name, const PlannedStep& step) {
    table.row({name, base::format_seconds(step.seconds), base::format_percent(step.mfu),
               base::format_bytes(step.most_bytes()), step.fits() ? "" : "does not fit",
               parallel::layers_text(step), parallel::recomputation_text(step),
               to_string(step.frame)});
  };
  for (std::size_t i = 0; i < plan.ranking.size(); ++i) add(std::to_string(i + 1), plan.ranking[i]);
  if (!plan.baselines.empty()) table.rule();
  for (const parallel::PlannedBaseline& baseline : plan.baselines) {
    if (baseline.exists) {
      add(baseline.name, baseline.step);
    } else {
      table.row({baseline.name, "", "", "", "no such plan"});
    }
  }
  return table;
}

base::TextTable runners_up_table(const parallel::ClusterPlan& plan) {
  base::TextTable table({{"choice"},
                         {"value"},
                         {"next best"},
                         {"step", Align::kRight},
                         {"computing", Align::kRight},
                         {"sending", Align::kRight},
                         {"waiting", Align::kRight},
                         {"memory", Align::kRight},
                         {""},
                         {"its other choices"}});
  const auto part = [&](const PlannedStep& step, std::initializer_list<TimeUse> uses) {
    return signed_seconds(sum(step, uses) - sum(plan.best, uses));
  };
  for (const parallel::ChoiceRunnerUp& one : plan.runners_up) {
    table.row({one.choice, one.value, one.other,
               signed_seconds(one.step.seconds - plan.best.seconds),
               part(one.step, {TimeUse::kProducts, TimeUse::kMemoryBound}),
               part(one.step, {TimeUse::kTensorExchange, TimeUse::kExpertExchange,
                               TimeUse::kSlowdown, TimeUse::kExposed}),
               part(one.step, {TimeUse::kHost, TimeUse::kBubble}),
               signed_bytes(one.step.most_bytes() - plan.best.most_bytes()),
               one.step.fits() ? "" : "does not fit", to_string(one.step.frame)});
  }
  return table;
}

std::string stop_text(const std::string& reason) {
  if (reason == "bound") return "no plan was left";
  if (reason == "simulations") return "--limit-simulations was reached";
  if (reason == "time") return "--limit-plan-time was reached";
  if (reason == "rule") return "the plan of --rule";
  return "interrupted";
}

}  // namespace

std::string cluster_plan_text(const parallel::ClusterPlan& plan, const parallel::System& system,
                              std::int64_t devices) {
  const PlannedStep& best = plan.best;
  std::string text =
      base::format_seconds(best.seconds) + " a step of " +
      base::format_short(plan.setup.model_parameters() / 1e9) + " billion parameters" +
      (plan.setup.experts > 0
           ? " (" + base::format_short(plan.setup.active_parameters() / 1e9) + " of a token)"
           : "") +
      " on " + base::counted(devices, "device") + " of " + system.name + ", MFU " +
      base::format_percent(best.mfu) + ", " + base::format_bytes(best.most_bytes()) + " a device";
  const std::string gap =
      plan.bound_s > 0 ? "; at most " + base::format_percent(plan.gap()) + " above the bound\n"
                       : "; no bound was reached\n";
  text += best.fits() ? gap : "; no plan was found that fits into memory\n";
  text += to_string(best.frame) + "\n";
  text += "recomputed: " + parallel::recomputation_text(best) + "\n";
  if (best.frame.devices() < devices)
    text += base::counted(devices - best.frame.devices(), "device") + " stay idle\n";
  text += "\n" + stages_table(best, system).render() + "\n" + steps_table(plan).render();
  if (!plan.runners_up.empty()) text += "\n" + runners_up_table(plan).render();
  text += "\nplanned in " + base::format_seconds(plan.seconds) + ": " +
          base::counted(plan.counts.frames, "frame") + " below the bound, " +
          base::counted(plan.counts.partitions, "division") + " into stages, " +
          base::counted(plan.counts.simulations, "simulation") + " in " +
          base::counted(plan.counts.rounds, "round") +
          (plan.counts.groups > 0
               ? ", " + base::counted(plan.counts.groups, "group") + " with degrees by stage"
               : "") +
          "; " + stop_text(plan.stop_reason) + "\n";
  return text;
}

}  // namespace egret::driver

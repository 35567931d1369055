// SPDX-License-Identifier: Apache-2.0
#include "driver/report/pipeline_plan_text.h"

#include <algorithm>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "parallel/pipeline_plan/pipeline_plan_file.h"

namespace egret::driver {
namespace {

using base::Align;

constexpr std::size_t kMostRows = 8;

std::string counted(std::size_t count, std::string_view one) {
  return base::counted(static_cast<std::int64_t>(count), one);
}

base::TextTable stages_table(const parallel::PlannedPipeline& pipeline) {
  base::TextTable table({{"stage", Align::kRight},
                         {"ranks"},
                         {"operators", Align::kRight},
                         {"forward", Align::kRight},
                         {"backward", Align::kRight},
                         {"parameters", Align::kRight},
                         {"first"},
                         {"last"}});
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    const parallel::PlannedStage& stage = pipeline.stages[s];
    std::string ranks = std::to_string(stage.first_rank);
    if (stage.ranks > 1) ranks += "-" + std::to_string(stage.first_rank + stage.ranks - 1);
    table.row({std::to_string(s), std::move(ranks), std::to_string(stage.operators),
               base::format_seconds(stage.forward_s), base::format_seconds(stage.backward_s),
               base::format_bytes(stage.parameter_bytes), stage.first, stage.last});
  }
  return table;
}

base::TextTable ranking_table(const parallel::PipelinePlan& plan, double memory) {
  base::TextTable table({{"pipeline"},
                         {"step", Align::kRight},
                         {"of the best", Align::kRight},
                         {"idle", Align::kRight},
                         {"memory", Align::kRight},
                         {""}});
  for (std::size_t i = 0; i < std::min(plan.ranking.size(), kMostRows); ++i) {
    const parallel::PlannedPipeline& one = plan.ranking[i];
    table.row({to_string(one), base::format_seconds(one.seconds),
               base::format_short(one.seconds / plan.best.seconds),
               base::format_percent(one.bubble), base::format_bytes(one.memory_bytes),
               one.fits(memory) ? "" : "exceeds the memory"});
  }
  return table;
}

}  // namespace

std::string pipeline_plan_text(const parallel::PipelinePlan& plan, const parallel::Cluster& machine,
                               double memory) {
  std::string text = base::format_seconds(plan.best.seconds) + " a step on " +
                     to_string(machine.mesh) + " of " + machine.name + ": " + to_string(plan.best) +
                     ", " + base::format_bytes(plan.best.memory_bytes) + " a device\n\n";
  text += stages_table(plan.best).render() + "\n" + ranking_table(plan, memory).render() + "\n";
  text += "No pipeline of these pieces takes less than " + base::format_seconds(plan.bound_s) +
          ". Planned in " + base::format_seconds(plan.seconds) + ": " +
          counted(plan.pieces, "piece") + ", " + counted(plan.placements, "placement") + ", " +
          counted(plan.simulations, "simulation") + ".\n";
  return text;
}

}  // namespace egret::driver

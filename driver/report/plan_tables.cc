// SPDX-License-Identifier: Apache-2.0
#include "driver/report/plan_tables.h"

#include <cmath>
#include <map>
#include <string>

#include "base/formats/units.h"

namespace egret::driver {
namespace {

constexpr double kNothing = 5e-10;  // seconds

std::string signed_seconds(double seconds) {
  if (std::abs(seconds) < kNothing) return "0";
  return (seconds < 0 ? "-" : "+") + base::format_seconds(std::abs(seconds));
}

}  // namespace

std::string recomputation_text(const parallel::PlanRecomputation& recomputation) {
  if (recomputation.computations == 0 && recomputation.copies == 0)
    return "operators run in an order of less memory";
  std::string what;
  if (recomputation.computations > 0) {
    what = base::counted(static_cast<std::int64_t>(recomputation.computations),
                         "value is computed again", "values are computed again") +
           ", ";
  }
  if (recomputation.copies > 0) {
    what += base::counted(static_cast<std::int64_t>(recomputation.copies),
                          "value comes back from storage", "values come back from storage") +
            ", ";
  }
  return what + base::format_seconds(recomputation.time_s) + " of the " +
         base::format_seconds(recomputation.placed_time_s + recomputation.time_s) +
         "; for this placement at least " + base::format_seconds(recomputation.bound_s);
}

base::TextTable plan_times_table(const parallel::ParallelPlan& plan) {
  base::TextTable times({{"plan"}, {"time"}, {"memory", base::Align::kRight}, {""}});
  const auto fits = [&](double bytes) {
    return plan.limit_bytes <= 0 || bytes <= plan.limit_bytes ? "" : "does not fit";
  };
  times.row({"this plan", base::format_seconds(plan.time_s), base::format_bytes(plan.memory_bytes),
             fits(plan.memory_bytes)});
  for (const auto& [name, seconds] : plan.baselines) {
    const auto facts = plan.baseline_facts.find(name);
    if (facts == plan.baseline_facts.end()) {
      times.row({name, base::format_seconds(seconds), "", ""});
      continue;
    }
    const double bytes = facts->second.memory_bytes;
    std::string mark = fits(bytes);
    if (facts->second.divided_inputs)
      mark += std::string(mark.empty() ? "" : ", ") + "inputs arrive in blocks";
    times.row({name, base::format_seconds(seconds), base::format_bytes(bytes), mark});
  }
  return times;
}

base::TextTable plan_searches_table(const parallel::ParallelPlan& plan) {
  base::TextTable searches({{"search"}, {"found"}, {"plans"}, {"took"}, {"finished"}});
  for (const parallel::FoundPlan& one : plan.searches) {
    searches.row({std::string(one.search), base::format_seconds(one.time_s),
                  std::to_string(one.plans), base::format_seconds(one.seconds),
                  one.finished ? "yes" : "no"});
  }
  return searches;
}

base::TextTable runners_up_table(const parallel::ParallelPlan& plan) {
  base::TextTable reasons(
      {{"value"}, {"placement"}, {"next best"}, {"its time"}, {"computing"}, {"sending"}});
  for (const parallel::RunnerUp& one : plan.runners_up) {
    if (one.other.empty()) {
      reasons.row({one.name, one.placement, "none", "", "", ""});
      continue;
    }
    reasons.row({one.name, one.placement, one.other, base::format_seconds(one.time_s),
                 signed_seconds(one.computing_s), signed_seconds(one.sending_s)});
  }
  return reasons;
}

base::TextTable placements_table(const parallel::PlacedGraph& program) {
  base::TextTable placements({{"value"}, {"type"}, {"placement"}});
  std::map<std::string, int> how;  // placements of constants
  std::int64_t constants = 0;
  std::int64_t bytes = 0;
  for (const parallel::PlacedNode& node : program.nodes) {
    const std::string placement = to_string(node.placement, program.mesh);
    if (node.kind == parallel::PlacedNode::Kind::kConstant) {
      ++how[placement];
      ++constants;
      bytes += node.whole.bytes();
    } else if (!node.name.empty()) {
      placements.row({node.name, ir::to_string(node.whole), placement});
    }
  }
  if (constants == 0) return placements;
  std::string text;
  for (const auto& [placement, count] : how)
    text += (text.empty() ? "" : ", ") + placement + " (" + std::to_string(count) + ")";
  placements.row(
      {base::counted(constants, "constant"), base::format_bytes(static_cast<double>(bytes)), text});
  return placements;
}

base::TextTable communication_table(const parallel::ParallelPlan& plan) {
  base::TextTable sent({{"collective"}, {"axis"}, {"times"}, {"sent by a rank"}});
  for (const parallel::Communication& one : plan.communication)
    sent.row({one.collective, one.axis, std::to_string(one.count), base::format_bytes(one.bytes)});
  return sent;
}

}  // namespace egret::driver

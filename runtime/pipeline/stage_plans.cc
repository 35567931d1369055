// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/stage_plans.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace egret::runtime {
namespace {

using base::Result;

// The ranks of a stage lie along it.
std::string inner_axis(const parallel::Cluster& machine) {
  const int axes = machine.mesh.axis_count();
  return axes > 0 ? machine.mesh.axis(axes - 1).name : "ranks";
}

Result<base::Json> plan_of(const parallel::PipelineLayout& layout, std::int64_t stage,
                           const parallel::Cluster& machine,
                           const parallel::StagePlanOptions& options) {
  EGRET_ASSIGN_OR_RETURN(const parallel::Mesh mesh,
                         parallel::Mesh::of({{inner_axis(machine), layout.group_size_of(stage)}}));
  auto plan = parallel::plan_stage(layout.step.stages[static_cast<std::size_t>(stage)],
                                   machine.with_mesh(mesh), options);
  if (!plan.ok()) return plan.status().at("stage " + std::to_string(stage));
  return plan;
}

// What rank 0 has, at all ranks.
Result<std::string> from_rank_0(const std::string& text, const Ranks& ranks) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(ranks.size()));
  std::iota(all.begin(), all.end(), 0);
  const auto bytes = std::as_bytes(std::span(text));
  const std::vector<std::vector<std::byte>> outgoing(
      all.size(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  EGRET_ASSIGN_OR_RETURN(const auto incoming, ranks.exchange()(all, outgoing));
  const std::vector<std::byte>& first = incoming.front();
  return std::string(reinterpret_cast<const char*>(first.data()), first.size());
}

}  // namespace

base::Status plan_and_divide_stages(parallel::PipelineLayout& layout,
                                    const parallel::Cluster& machine,
                                    const parallel::StagePlanOptions& options, const Ranks& ranks) {
  if (!layout.has_groups()) return base::ok();
  std::vector<base::Json> plans(layout.step.stages.size());
  for (std::size_t s = 0; s < plans.size(); ++s) {
    const auto stage = static_cast<std::int64_t>(s);
    if (layout.group_size_of(stage) == 1) continue;
    std::string text;
    if (ranks.rank() == 0) {
      EGRET_ASSIGN_OR_RETURN(const base::Json plan, plan_of(layout, stage, machine, options));
      text = plan.dump();
    }
    if (ranks.is_distributed()) {
      EGRET_ASSIGN_OR_RETURN(text, from_rank_0(text, ranks));
    }
    EGRET_ASSIGN_OR_RETURN(plans[s], base::Json::parse(text));
  }
  return parallel::divide_stages(layout, plans);
}

}  // namespace egret::runtime

// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/plan_check.h"

#include <vector>

#include "base/random.h"
#include "base/stop.h"
#include "base/timer.h"
#include "ir/evaluate/input_draws.h"

namespace egret::parallel {
namespace {

std::vector<ir::Tensor> random_inputs(const ir::Graph& graph) {
  base::Random random(1);
  return ir::random_inputs(graph, random);
}

}  // namespace

std::string_view name_of(PlanCheck check) {
  switch (check) {
    case PlanCheck::kPassed: return "passed";
    case PlanCheck::kSkipped: return "skipped";
    case PlanCheck::kOutOfTime: return "out of time";
    case PlanCheck::kInterrupted: return "interrupted";
  }
  return "";
}

base::Result<PlanChecked> check_plan(const PlacedGraph& plan, const ir::Graph& program,
                                     std::span<const ir::Tensor> inputs, double limit_s) {
  if (limit_s <= 0) return PlanChecked{};
  const base::Stopwatch watch;
  const auto deadline = base::Deadline::after(limit_s);
  const auto over = [&] { return base::stop_requested() || deadline.expired(); };
  const std::vector<ir::Tensor> drawn =
      inputs.empty() ? random_inputs(program) : std::vector<ir::Tensor>{};
  const base::Status status = check_against(plan, program, inputs.empty() ? drawn : inputs, over);
  const double seconds = watch.seconds();
  if (status.ok()) return PlanChecked{PlanCheck::kPassed, seconds};
  if (status.code() != base::StatusCode::kLimit) return status;
  return PlanChecked{base::stop_requested() ? PlanCheck::kInterrupted : PlanCheck::kOutOfTime,
                     seconds};
}

}  // namespace egret::parallel

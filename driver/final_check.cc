// SPDX-License-Identifier: Apache-2.0
#include "driver/final_check.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/formats/units.h"
#include "base/stop.h"
#include "driver/measure/batch_plan.h"
#include "driver/measure/close_check.h"
#include "driver/measure/output_check.h"
#include "driver/measure/size_check.h"

namespace egret::driver {
namespace {

using Report = OptimizeReport;

CheckOptions check_options(const Setup& setup, const OptimizeOptions& options, int samples) {
  return {.samples = samples,
          .seed = static_cast<std::uint64_t>(options.seed),
          .given = options.given_inputs,
          .roundoff = roundoff(setup.execution.precision)};
}

// The error that was allowed takes the place of what rounding explains.
base::Result<Report::Check> check_budget(const ErrorBudget& budget, Decision& decision) {
  Report::Check result;
  if (budget.forms_from() >= FormsFrom::kBF16) return result;
  EGRET_ASSIGN_OR_RETURN(const MeasuredError error, budget.measure(*decision.plan));
  result.outputs.passed = budget.allows(error);
  result.outputs.max_error = error.largest();
  result.outputs.bound = budget.limit();
  if (!result.outputs.passed) {
    return base::mismatch("the relative error on samples is " +
                          base::format_short(error.largest()) + ", the budget " +
                          base::format_short(budget.limit()));
  }
  result.made = true;
  return result;
}

}  // namespace

// Two plans of the same backend are compared directly first, which is cheap. Only if they are not
// close does the check against the interpreter's reference follow, which knows how far rounding
// alone can move each output.
base::Result<Report::Check> check_outputs(const ir::Graph& original, Decision& decision,
                                          const Setup& setup, const OptimizeOptions& options,
                                          const ErrorBudget* budget, base::ProgressSink* progress) {
  Report::Check result;
  if (options.no_check || decision.plan == nullptr) return result;
  // How an engine computes the original is not for Egret to judge.
  if (setup.engine != nullptr && decision.chosen == nullptr) return result;
  for (const auto& [name, tensor] : options.given_inputs) result.given.push_back(name);
  const base::Progress checking(progress, "check");
  const bool lowers = decision.chosen != nullptr && decision.chosen->forms.has_value() &&
                      decision.chosen->forms->lowers();
  if (budget != nullptr && lowers) return check_budget(*budget, decision);
  const CheckOptions how = check_options(setup, options, static_cast<int>(options.check_samples));
  const bool closely = setup.engine == nullptr || options.quick || base::stop_requested();
  if (decision.plan_before != nullptr && closely && !decision.is_uncheckable) {
    EGRET_ASSIGN_OR_RETURN(auto close,
                           compare_closely(original, *decision.plan_before, *decision.plan, how));
    if (close) {
      result.outputs = *std::move(close);
      result.made = true;
      return result;
    }
  }
  // Nothing but the engine itself knows what undefined operators should give: the backend then runs
  // the graphs that are left without them.
  backends::ExecutablePlan* plan = decision.plan.get();
  std::unique_ptr<backends::ExecutablePlan> without_undefined;
  if (decision.is_uncheckable) {
    EGRET_ASSIGN_OR_RETURN(without_undefined,
                           compile_batch(*setup.backend, decision.graph, setup.plan));
    plan = without_undefined.get();
  }
  const auto run = [&](std::span<const ir::Tensor> inputs) { return plan->run(inputs); };
  OutputCheck::Run run_original;
  if (setup.engine != nullptr && decision.plan_before != nullptr && !decision.is_uncheckable) {
    run_original = [&](std::span<const ir::Tensor> inputs) {
      return decision.plan_before->run(inputs);
    };
  }
  EGRET_ASSIGN_OR_RETURN(result.outputs, OutputCheck::compare(original, how, run, run_original));
  if (!result.outputs.passed) return mismatch_of(result.outputs);
  result.made = true;
  return result;
}

// A result for open sizes is checked at the profiles and at further sizes: the rules' conditions
// hold there by proof, and this tests the whole.
base::Result<Report::Sizes> check_sizes(const ir::Graph& program, const Decision& decision,
                                        const rules::OpenSizes& open, const Setup& setup,
                                        const OptimizeOptions& options, bool checked) {
  const std::size_t further = options.quick ? 1 : 3;
  const std::vector<rules::SizeProfile>& profiles = open.profiles();
  Report::Sizes result;
  result.at = to_string(profiles.front().sizes);
  for (const ProfileTimes& times : decision.profiles) result.profiles.push_back(to_string(times));
  result.undecided = static_cast<std::uint64_t>(open.undecided());
  for (const ir::Guard& guard : open.assumptions()) result.assumed.push_back(ir::to_string(guard));
  if (!checked || decision.chosen == nullptr) return result;
  const CheckOptions how = check_options(setup, options, 1);
  std::vector<ir::SymbolValues> sizes;
  for (std::size_t i = 1; i < profiles.size(); ++i) sizes.push_back(profiles[i].sizes);
  EGRET_ASSIGN_OR_RETURN(const auto others, further_sizes(program, open, further));
  sizes.insert(sizes.end(), others.begin(), others.end());
  for (const ir::SymbolValues& one : sizes) {
    EGRET_RETURN_IF_ERROR(check_at_sizes(program, decision.graph, one, *setup.backend, setup.plan,
                                         how, options.quick));
    result.checked.push_back(to_string(one));
  }
  return result;
}

}  // namespace egret::driver

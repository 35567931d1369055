// SPDX-License-Identifier: Apache-2.0
#include "driver/precision/error_budget.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/median.h"
#include "base/timer.h"

namespace egret::driver {
namespace {

using backends::OperandForm;

constexpr std::array<std::string_view, 4> kNames = {"extraction", "layers", "bf16", "int8"};

// A corrected estimate is this much above what was measured, so that the next choice holds.
constexpr double kMargin = 1.1;

}  // namespace

std::vector<std::string> forms_from_names() { return {kNames.begin(), kNames.end()}; }

FormsFrom forms_from_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? FormsFrom::kExtraction
                               : static_cast<FormsFrom>(found - kNames.begin());
}

base::Result<std::unique_ptr<ErrorBudget>> ErrorBudget::of(
    const ir::Graph& program, Samples samples, double limit, FormsFrom forms_from,
    const backends::Backend& backend, const backends::CompileOptions& plan, double seconds) {
  std::unique_ptr<ErrorBudget> budget(new ErrorBudget());
  budget->limit_ = limit;
  budget->forms_from_ = forms_from;
  budget->samples_ = std::move(samples);
  budget->backend_ = &backend;
  budget->plan_ = plan;
  budget->seconds_ = seconds;
  EGRET_ASSIGN_OR_RETURN(const auto original, backend.compile(program, plan));
  EGRET_ASSIGN_OR_RETURN(budget->expected_, budget->outputs(*original));
  return budget;
}

base::Result<bool> ErrorBudget::learn(const ir::Graph& program,
                                      std::span<const Contraction> contractions) {
  std::vector<Key> keys;
  std::vector<ir::NodeId> nodes;
  for (const auto& [key, node] : contractions) {
    if (known_.contains(key) || std::ranges::find(keys, key) != keys.end()) continue;
    keys.push_back(key);
    nodes.push_back(node);
  }
  if (keys.empty()) return false;
  const base::Stopwatch watch;
  EGRET_ASSIGN_OR_RETURN(std::vector<FormErrors> errors,
                         measure_form_errors(program, nodes, samples_.calibration, *backend_, plan_,
                                             std::max(0.0, seconds_)));
  seconds_ -= watch.seconds();
  for (std::size_t i = 0; i < keys.size(); ++i) known_.emplace(keys[i], std::move(errors[i]));
  return true;
}

const FormErrors* ErrorBudget::find(Key key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? nullptr : &found->second;
}

double ErrorBudget::square(Key key, OperandForm form) const {
  if (form == OperandForm::kF32) return 0;
  if (const FormErrors* errors = find(key)) {
    const FormErrors::One& one = (*errors)[form];
    return one.possible ? factor_ * one.square : std::numeric_limits<double>::infinity();
  }
  std::vector<double> others;
  double alike = 0;
  for (const auto& [other, errors] : known_) {
    if (!errors[form].possible) continue;
    others.push_back(errors[form].square);
    if (other.value == key.value || other.operand == key.operand)
      alike = std::max(alike, errors[form].square);
  }
  if (alike > 0) return factor_ * alike;
  return factor_ * base::median(std::move(others));
}

base::Result<MeasuredError> ErrorBudget::measure(backends::ExecutablePlan& plan) const {
  EGRET_ASSIGN_OR_RETURN(const std::vector<Sample> got, outputs(plan));
  const std::size_t count = samples_.held_out.size();
  return MeasuredError{
      .held_out = relative_error(std::span(expected_).first(count), std::span(got).first(count)),
      .bound = relative_error_bound(expected_, got)};
}

base::Result<std::vector<Sample>> ErrorBudget::outputs(backends::ExecutablePlan& plan) const {
  EGRET_ASSIGN_OR_RETURN(std::vector<Sample> all, outputs_on(plan, samples_.held_out));
  EGRET_ASSIGN_OR_RETURN(std::vector<Sample> others, outputs_on(plan, samples_.calibration));
  std::ranges::move(others, std::back_inserter(all));
  return all;
}

bool ErrorBudget::correct(double estimated, double measured) {
  if (!(estimated > 0) || !(measured > 0)) return false;
  const double before = factor_;
  // Of a result that overflows nothing is known but that the estimate was too low.
  const double right =
      std::isfinite(measured) ? factor_ * std::pow(measured / estimated, 2) : 16 * factor_;
  // Beyond the limit, the factor must grow, or the same program is chosen again.
  factor_ = measured > limit_ ? std::max(kMargin * right, 1.05 * factor_)
                              : std::min(kMargin * right, factor_);
  return std::abs(factor_ - before) > 0.04 * before;
}

}  // namespace egret::driver

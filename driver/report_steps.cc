// SPDX-License-Identifier: Apache-2.0
#include "driver/report_steps.h"

#include <map>
#include <string>
#include <utility>

#include "base/formats/units.h"
#include "driver/measure/race.h"
#include "driver/select/operator_costs.h"

namespace egret::driver {
namespace {

using Report = OptimizeReport;

Report::Race race_of(const OptimizeSteps& s) {
  const Decision& decision = s.decision;
  Report::Race race;
  race.chosen = decision.chosen == nullptr ? "original" : decision.chosen->name;
  race.measured = decision.measured;
  if (s.setup.engine != nullptr) race.engine = s.setup.engine->version();
  race.arena_before = decision.arena_before;
  race.arena_after = decision.arena_after;
  if (!decision.measured) return race;
  race.before = decision.timings.front();
  race.after = decision.timings[decision.winner];
  for (std::size_t i = 0; i < s.candidates.size(); ++i) {
    const Candidate& candidate = s.candidates[i];
    race.candidates.push_back({.name = candidate.name,
                               .operators = operator_count(candidate.operators),
                               .predicted_s = candidate.prediction.seconds,
                               .kernels = candidate.kernels,
                               .measured = decision.timings[i + 1]});
  }
  return race;
}

Report::Prediction prediction_of(const OptimizeSteps& s) {
  const Prediction& after = s.decision.chosen == nullptr ? s.before : s.decision.chosen->prediction;
  return {.cost_model = std::string(s.setup.costs.model->name()),
          .before_s = s.before.seconds,
          .after_s = after.seconds,
          .interpolated = after.interpolated,
          .estimated = after.estimated,
          .kernels_before = s.decision.kernels_before,
          .kernels_after =
              s.decision.chosen == nullptr ? s.decision.kernels_before : s.decision.chosen->kernels,
          .rates = s.setup.costs.rates,
          .warning = s.setup.costs.warning,
          .operators_before = s.before.operators,
          .operators_after = after.operators};
}

Report::Extraction extraction_of(const OptimizeSteps& s) {
  const extract::Solution& solution = s.candidates.front().solution;
  const bool optimal = solution.quality == extract::Quality::kOptimal;
  Report::Extraction extraction{
      .extractor = s.options.extractor,
      .status = optimal ? "optimal" : "feasible",
      .cost_s = solution.dag_cost,
      .bound_s = solution.bound,
      .operators_measured = s.profiler.measured,
      .operators_estimated = s.decision.chosen == nullptr ? 0 : s.decision.chosen->estimated,
      .notes = solution.notes};
  for (const std::string& reason : s.profiler.too_large)
    extraction.notes.push_back("estimated, not measured: " + reason);
  if (s.setup.costs.database != nullptr) {
    std::string note = note_of_disturbed(s.setup.costs.database->stored_disturbed());
    if (!note.empty()) extraction.notes.push_back(std::move(note));
  }
  for (const std::string& note : s.decision.notes) extraction.notes.push_back(note);
  if (s.decision.measured && s.setup.costs.profiled != nullptr) {
    std::string doubt = doubt_about_costs(s.before.seconds, s.decision.timings.front().median_s);
    if (!doubt.empty()) extraction.notes.push_back(std::move(doubt));
  }
  return extraction;
}

// Of the candidate whose forms were chosen; of the written one, if that has none.
Report::Precision precision_of(const OptimizeSteps& s) {
  if (s.budget == nullptr) return {};
  const Samples& samples = s.budget->samples();
  Report::Precision precision{.budget = s.budget->limit(),
                              .forms_from = s.options.forms_from,
                              .calibration = samples.calibration.size(),
                              .held_out = samples.held_out.size(),
                              .drawn = samples.drawn};
  for (const Candidate& candidate : s.candidates) {
    if (!candidate.forms) continue;
    precision.estimated = candidate.forms->estimated;
    precision.measured = candidate.forms->measured.held_out;
    precision.bound = candidate.forms->measured.bound;
    for (std::size_t i = 0; i < backends::kOperandForms; ++i) {
      const auto form = static_cast<backends::OperandForm>(i);
      precision.kernels[std::string(backends::to_string(form))] = candidate.forms->kernels[i];
    }
    precision.written = s.decision.chosen == &candidate;
  }
  return precision;
}

// Everything that the result depends on besides the input, and nothing that differs between runs.
std::map<std::string, std::string> manifest_of(const OptimizeSteps& s, const Report& report) {
  const OptimizeOptions& options = s.options;
  std::map<std::string, std::string> manifest{
      {"egret.rules", options.rules},
      {"egret.rule_set_hash", report.rules.set_hash},
      {"egret.rules_allowed", report.rules.allowed},
      {"egret.extractor", report.extraction.extractor},
      {"egret.cost", report.predicted.cost_model},
      {"egret.seed", std::to_string(options.seed)},
      {"egret.limits", "nodes=" + std::to_string(options.limit_nodes) +
                           " iterations=" + std::to_string(options.limit_iterations)},
      {"egret.status", report.status}};
  if (!report.sizes.at.empty()) manifest["egret.sizes"] = report.sizes.at;
  std::string given;
  for (const auto& [name, tensor] : options.given_inputs)
    given += (given.empty() ? "" : ", ") + name;
  if (!given.empty()) manifest["egret.given_inputs"] = given;
  if (!s.setup.forbidden.empty()) manifest["egret.forbidden"] = s.setup.forbidden.names();
  if (s.setup.execution.precision != backends::Precision::kF32)
    manifest["egret.precision"] = options.precision;
  if (s.budget != nullptr) {
    manifest["egret.error_budget"] = base::format_short(s.budget->limit());
    if (s.options.forms_from != OptimizeOptions().forms_from)
      manifest["egret.forms_from"] = s.options.forms_from;
  }
  if (s.setup.engine != nullptr) manifest["egret.engine"] = s.setup.engine->version();
  if (!s.setup.costs.machine.empty()) manifest["egret.machine"] = s.setup.costs.machine;
  if (report.predicted.rates.measured) manifest["egret.rates"] = "measured";
  return manifest;
}

}  // namespace

OptimizeReport report_of(const OptimizeSteps& s) {
  const Candidate* chosen = s.decision.chosen;
  OptimizeReport report;
  const bool faster = s.decision.measured && is_faster(s.decision.timings[s.decision.winner].gain);
  report.status = chosen == nullptr ? "unchanged" : faster ? "improved" : "rewritten";
  report.out_of_memory = s.decision.out_of_memory;
  report.operators.before = s.decision.operators_before;
  report.operators.after = chosen == nullptr ? s.decision.operators_before : chosen->operators;
  report.race = race_of(s);
  report.predicted = prediction_of(s);
  report.rules = {.used = chosen == nullptr ? std::vector<RuleCount>() : chosen->rules_used,
                  .available = s.setup.rules.size(),
                  .allowed = s.options.allow,
                  .not_proven = s.setup.rules.not_proven(),
                  .set_hash = s.setup.rules.set().hash().to_hex()};
  report.growth = s.growth;
  report.extraction = extraction_of(s);
  report.sizes = s.sizes;
  report.precision = precision_of(s);
  report.check = s.check;
  report.manifest = manifest_of(s, report);
  report.machine = s.setup.machine;
  return report;
}

}  // namespace egret::driver

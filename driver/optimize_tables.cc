// SPDX-License-Identifier: Apache-2.0
#include "driver/optimize_tables.h"

#include <map>
#include <string>
#include <utility>

#include "base/formats/units.h"

namespace egret::driver {
namespace {

double predicted(double by_operators, const KernelPrediction& by_kernels) {
  return by_kernels.seconds > 0 ? by_kernels.seconds : by_operators;
}

}  // namespace

base::TextTable operators_table(const OptimizeReport& report) {
  base::TextTable table(
      {{"operator"}, {"before", base::Align::kRight}, {"after", base::Align::kRight}});
  std::map<std::string, std::pair<int, int>> kinds;
  for (const auto& [name, count] : report.operators.before) kinds[name].first = count;
  for (const auto& [name, count] : report.operators.after) kinds[name].second = count;
  for (const auto& [name, counts] : kinds)
    table.row({name, std::to_string(counts.first), std::to_string(counts.second)});
  table.rule();
  table.row({"all", std::to_string(operator_count(report.operators.before)),
             std::to_string(operator_count(report.operators.after))});
  return table;
}

base::TextTable rules_table(const OptimizeReport& report) {
  base::TextTable table({{"rule"}, {"nodes", base::Align::kRight}, {"status"}, {"limit"}});
  for (const RuleCount& use : report.rules.used)
    table.row({use.name, std::to_string(use.count), use.status, use.limit});
  return table;
}

base::TextTable race_table(const OptimizeReport& report) {
  base::TextTable table({{"candidate"},
                         {"operators", base::Align::kRight},
                         {"predicted", base::Align::kRight},
                         {"measured", base::Align::kRight}});
  table.row(
      {"original", std::to_string(operator_count(report.operators.before)),
       base::format_seconds(predicted(report.predicted.before_s, report.predicted.kernels_before)),
       base::format_seconds(report.race.before.median_s)});
  for (const auto& candidate : report.race.candidates) {
    table.row({candidate.name + (candidate.name == report.race.chosen ? " (written)" : ""),
               std::to_string(candidate.operators),
               base::format_seconds(predicted(candidate.predicted_s, candidate.kernels)),
               candidate.measured.runs > 0 ? base::format_seconds(candidate.measured.median_s)
                                           : "not raced"});
  }
  return table;
}

}  // namespace egret::driver

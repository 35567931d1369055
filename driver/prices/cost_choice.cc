// SPDX-License-Identifier: Apache-2.0
#include "driver/prices/cost_choice.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/formats/units.h"
#include "cost/interpolation.h"

namespace egret::driver {
namespace {

// Measured costs. The choice keeps the database, because the model stores what it measures later.
base::Result<CostChoice> profiled_costs(const CostOptions& options, const std::string& machine) {
  CostChoice choice;
  const bool in_engine = !options.engine.empty();
  choice.machine = in_engine ? options.engine + " on " + machine : machine;
  EGRET_ASSIGN_OR_RETURN(cost::DatabaseInUse used, cost::open_database_in_use(options.database));
  choice.database = std::move(used.database);
  choice.warning = std::move(used.warning);
  std::int64_t others = 0;
  if (!in_engine) {
    EGRET_ASSIGN_OR_RETURN(others, entries_of_others_alone(*choice.database, machine));
  }
  if (const std::string warning = warning_of_other_machines(others, machine); !warning.empty())
    choice.warning += (choice.warning.empty() ? "" : "; ") + warning;
  EGRET_ASSIGN_OR_RETURN(choice.rates, known_rates(*choice.database, machine, options.execution));
  auto profiled = std::make_unique<cost::ProfiledModel>(*choice.database, choice.machine,
                                                        choice.rates.fastest, choice.rates.rates);
  if (in_engine) profiled->measure_views();
  choice.profiled = profiled.get();
  choice.model = std::move(profiled);
  return choice;
}

// The database is read and not kept: nothing is measured for it.
base::Result<CostChoice> interpolated_costs(const CostOptions& options,
                                            const std::string& machine) {
  CostChoice choice;
  choice.machine = machine;
  EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database_to_read(options.database));
  if (!options.database_machine.empty()) {
    EGRET_ASSIGN_OR_RETURN(choice.machine, machine_called(*database, options.database_machine));
  }
  EGRET_ASSIGN_OR_RETURN(choice.rates, known_rates(*database, choice.machine, options.execution));
  EGRET_ASSIGN_OR_RETURN(const auto rows, database->rows(choice.machine));
  if (rows.empty()) {
    choice.warning =
        "the cost database has no entries of " + choice.machine + "; using roofline estimates";
  }
  choice.model = std::make_unique<cost::InterpolatedModel>(rows, choice.rates.rates);
  return choice;
}

base::Result<CostChoice> estimated_costs(const CostOptions& options, const std::string& machine) {
  CostChoice choice;
  const auto row =
      std::ranges::find(cost::estimating_models(), options.model, &cost::ModelRow::name);
  if (row != cost::estimating_models().end() && row->uses_rates) {
    EGRET_ASSIGN_OR_RETURN(choice.rates,
                           known_rates_at(options.database, machine, options.execution));
  }
  choice.model = cost::make_model(options.model, choice.rates.rates);
  if (choice.model == nullptr)
    return base::usage_error("unknown cost model '" + options.model + "'");
  return choice;
}

}  // namespace

base::Result<CostChoice> choose_costs(const CostOptions& options, const std::string& machine) {
  if (!options.database_machine.empty() && options.model != "interpolated")
    return base::usage_error("--cost-machine needs --cost interpolated");
  if (options.model == "profiled") return profiled_costs(options, machine);
  if (options.model == "interpolated") return interpolated_costs(options, machine);
  return estimated_costs(options, machine);
}

// The machine of that name, or the only one whose name contains the text.
base::Result<std::string> machine_called(const cost::Database& database, const std::string& text) {
  EGRET_ASSIGN_OR_RETURN(const auto machines, database.machines());
  std::vector<std::string> fitting;
  std::string names;
  for (const cost::Database::MachineRow& row : machines) {
    if (row.machine == text) return text;
    if (row.machine.find(text) != std::string::npos) fitting.push_back(row.machine);
    names += "\n  " + row.machine;
  }
  if (fitting.size() == 1) return fitting.front();
  return base::usage_error((fitting.empty() ? "no machine" : "more than one machine") +
                           std::string(" in the cost database matches '") + text +
                           "'; the database has entries of" + (names.empty() ? " none" : names));
}

// The entries of other machines, or 0 if this machine has any: they explain why all is measured
// anew.
base::Result<std::int64_t> entries_of_others_alone(const cost::Database& database,
                                                   const std::string& machine) {
  EGRET_ASSIGN_OR_RETURN(const auto machines, database.machines());
  std::int64_t others = 0;
  for (const cost::Database::MachineRow& row : machines) {
    if (row.machine == machine) return 0;
    others += row.entries;
  }
  return others;
}

std::string warning_of_other_machines(std::int64_t entries, const std::string& machine) {
  if (entries == 0) return "";
  return "the cost database has " + base::format_count(entries) +
         " entries of other machines or thread counts, but none of " + machine +
         "; operators are measured again";
}

}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
// From the name of a cost model to the model, with the database and the rates behind it.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "cost/database.h"
#include "cost/model.h"
#include "cost/profiled.h"
#include "driver/measure/calibration.h"

namespace egret::driver {

struct CostChoice {
  std::unique_ptr<cost::Database> database;  // only where the model measures; it outlives the model
  std::unique_ptr<cost::Model> model;
  cost::ProfiledModel* profiled = nullptr;  // model, where that is what it is
  KnownRates rates;
  std::string machine;  // that measured times are of; empty: there are none in the model
  std::string warning;  // about the database; empty: none
};

// Which model, with what behind it.
struct CostOptions {
  std::string model = "profiled";
  std::string database;          // empty: cost::default_database_path()
  std::string database_machine;  // of interpolated costs, see machine_called(); empty: this one
  Execution execution;           // that times and rates are of
  std::string engine{};  // version of the engine that operators are measured in; empty: none
};

// `machine` is this one (machine_fingerprint()). Errors: usage for names that do not exist; the
// database's.
base::Result<CostChoice> choose_costs(const CostOptions& options, const std::string& machine);

// The machine in the database that is called so, or the only one whose name contains this text.
// Errors: usage, with the names that there are, for none or several.
base::Result<std::string> machine_called(const cost::Database& database, const std::string& text);

// How many entries a database has of other machines, where it has none of this one; otherwise 0.
base::Result<std::int64_t> entries_of_others_alone(const cost::Database& database,
                                                   const std::string& machine);
// What there is to say of these; empty for none.
std::string warning_of_other_machines(std::int64_t entries, const std::string& machine);

}  // namespace egret::driver

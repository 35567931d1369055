// SPDX-License-Identifier: Apache-2.0
// `egret costs clear | prune`: removes measured costs.
#include "backends/option_help.h"
#include "base/formats/units.h"
#include "cost/database.h"
#include "driver/measure/machine_fingerprint.h"
#include "driver/select/cost_choice.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct ClearOptions {
  std::string cost_db;
  std::string machine;
  std::string precision = "f32";
  bool all_machines = false;

  static const base::OptionTable<ClearOptions>& table() {
    using C = ClearOptions;
    static const base::OptionTable<C> rows{
        "costs clear",
        {{"cost-db", &C::cost_db, cost::kDatabaseHelp, base::path()},
         {"cost-machine", &C::machine, cost::kMachineHelp},
         {"precision", &C::precision, backends::kPrecisionHelp,
          base::one_of(backends::precision_names())},
         {"all-machines", &C::all_machines, cost::kAllMachinesHelp}}};
    return rows;
  }
};

struct PruneOptions {
  std::string cost_db;
  bool other_machines = false;

  static const base::OptionTable<PruneOptions>& table() {
    using P = PruneOptions;
    static const base::OptionTable<P> rows{
        "costs prune",
        {{"cost-db", &P::cost_db, cost::kDatabaseHelp, base::path()},
         {"other-machines", &P::other_machines,
          "Also remove the measurements of other machines, and of this one with other libraries or "
          "thread counts"}}};
    return rows;
  }
};

// This machine's name in the database, as the CPU backend measures.
std::string this_machine(const Console& console, const std::string& precision) {
  return driver::machine_fingerprint({.threads = static_cast<int>(console.options().threads),
                                      .precision = backends::precision_named(precision)});
}

void show_removed(Console& console, std::int64_t removed) {
  console.result(base::versioned_json().set("removed", removed),
                 base::counted(removed, "measurement") + " removed\n");
}

class Clear final : public Command {
 public:
  void declare(Arguments& arguments) override { arguments.options(options_); }

  base::Result<ExitCode> run(Console& console) override {
    if (options_.all_machines && !options_.machine.empty())
      return base::usage_error("--all-machines cannot be combined with --cost-machine");
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database(options_.cost_db));
    std::string machine;
    if (!options_.machine.empty()) {
      EGRET_ASSIGN_OR_RETURN(machine, driver::machine_called(*database, options_.machine));
    } else if (!options_.all_machines) {
      machine = this_machine(console, options_.precision);
    }
    EGRET_ASSIGN_OR_RETURN(const std::int64_t removed,
                           database->remove(machine, cost::Database::Removal::kAll));
    EGRET_RETURN_IF_ERROR(database->remove_rates(machine));
    show_removed(console, removed);
    return ExitCode::kOk;
  }

 private:
  ClearOptions options_;
};

class Prune final : public Command {
 public:
  void declare(Arguments& arguments) override { arguments.options(options_); }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database(options_.cost_db));
    EGRET_ASSIGN_OR_RETURN(std::int64_t removed,
                           database->remove("", cost::Database::Removal::kDisturbed));
    if (options_.other_machines) {
      EGRET_ASSIGN_OR_RETURN(const auto machines, database->machines());
      for (const cost::Database::MachineRow& row : machines) {
        if (row.machine.ends_with(this_machine(console, "f32")) ||
            row.machine.ends_with(this_machine(console, "bf16")))
          continue;
        EGRET_ASSIGN_OR_RETURN(const std::int64_t more,
                               database->remove(row.machine, cost::Database::Removal::kAll));
        EGRET_RETURN_IF_ERROR(database->remove_rates(row.machine));
        removed += more;
      }
    }
    show_removed(console, removed);
    return ExitCode::kOk;
  }

 private:
  PruneOptions options_;
};

}  // namespace

Verb costs_clear_verb() {
  return {"costs clear", "Remove measured costs",
          "Removes the measurements and rates of this machine, so that later runs measure again.",
          make_command<Clear>};
}
Verb costs_prune_verb() {
  return {"costs prune", "Remove doubtful measured costs",
          "Removes measurements beside which other processes used the processors. Later runs would "
          "replace them if the machine is at rest.",
          make_command<Prune>};
}

}  // namespace egret::tools

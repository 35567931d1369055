// SPDX-License-Identifier: Apache-2.0
// `egret costs list | clear | prune | merge | export | import`: the database of measured costs.
#include "backends/option_help.h"
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "cost/database.h"
#include "driver/measure/machine_fingerprint.h"
#include "driver/prices/cost_choice.h"
#include "tools/arguments/output_file.h"
#include "tools/console/rates_report.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

constexpr std::int64_t kMostExportBytes = std::int64_t{1} << 30;

struct CostsOptions {
  std::string cost_db;

  static const base::OptionTable<CostsOptions>& table() {
    using C = CostsOptions;
    static const base::OptionTable<C> rows{
        "costs", {{"cost-db", &C::cost_db, cost::kDatabaseHelp, base::path()}}};
    return rows;
  }
};

struct ListOptions {
  std::string precision = "f32";
  bool all_machines = false;

  static const base::OptionTable<ListOptions>& table() {
    using L = ListOptions;
    static const base::OptionTable<L> rows{
        "costs list",
        {{"precision", &L::precision, backends::kPrecisionHelp,
          base::one_of(backends::precision_names())},
         {"all-machines", &L::all_machines, cost::kAllMachinesHelp}}};
    return rows;
  }
};

struct ClearOptions {
  std::string machine;
  std::string precision = "f32";
  bool all_machines = false;

  static const base::OptionTable<ClearOptions>& table() {
    using C = ClearOptions;
    static const base::OptionTable<C> rows{
        "costs clear",
        {{"cost-machine", &C::machine, cost::kMachineHelp},
         {"precision", &C::precision, backends::kPrecisionHelp,
          base::one_of(backends::precision_names())},
         {"all-machines", &C::all_machines, cost::kAllMachinesHelp}}};
    return rows;
  }
};

struct PruneOptions {
  bool other_machines = false;

  static const base::OptionTable<PruneOptions>& table() {
    using P = PruneOptions;
    static const base::OptionTable<P> rows{
        "costs prune",
        {{"other-machines", &P::other_machines,
          "Also remove the measurements of other machines, and of this one with other libraries or "
          "thread counts"}}};
    return rows;
  }
};

base::Json to_json(const cost::Database::Row& row) {
  base::Json json = base::Json::object();
  json.set("machine", row.machine)
      .set("key", row.key)
      .set("runs", row.entry.runs)
      .set("median_s", row.entry.median_s)
      .set("deviation_s", row.entry.deviation_s);
  if (row.entry.disturbed) json.set("disturbed", true);
  return json;
}

base::Result<cost::Database::Row> row_from(const base::Json& json) {
  const auto member = [&](std::string_view name) -> base::Result<const base::Json*> {
    const base::Json* found = json.find(name);
    if (found == nullptr) return base::bad_input("an entry lacks '" + std::string(name) + "'");
    return found;
  };
  cost::Database::Row row;
  EGRET_ASSIGN_OR_RETURN(const base::Json* machine, member("machine"));
  EGRET_ASSIGN_OR_RETURN(row.machine, machine->as_string());
  EGRET_ASSIGN_OR_RETURN(const base::Json* key, member("key"));
  EGRET_ASSIGN_OR_RETURN(row.key, key->as_string());
  EGRET_ASSIGN_OR_RETURN(const base::Json* runs, member("runs"));
  EGRET_ASSIGN_OR_RETURN(row.entry.runs, runs->as_integer());
  EGRET_ASSIGN_OR_RETURN(const base::Json* median, member("median_s"));
  EGRET_ASSIGN_OR_RETURN(row.entry.median_s, median->as_real());
  EGRET_ASSIGN_OR_RETURN(const base::Json* deviation, member("deviation_s"));
  EGRET_ASSIGN_OR_RETURN(row.entry.deviation_s, deviation->as_real());
  if (const base::Json* disturbed = json.find("disturbed"); disturbed != nullptr) {
    EGRET_ASSIGN_OR_RETURN(row.entry.disturbed, disturbed->as_bool());
  }
  if (!(row.entry.median_s >= 0) || !(row.entry.deviation_s >= 0) || row.entry.runs < 1)
    return base::bad_input("'" + row.key + "' has no valid time");
  return row;
}

// A share of the time, where there is any.
std::string deviation_text(const cost::Entry& entry) {
  if (entry.median_s <= 0) return base::format_seconds(entry.deviation_s);
  return base::format_percent(entry.deviation_s / entry.median_s);
}

base::Json to_json(const cost::Database::RatesRow& row) {
  return rates_json(row.rates).set("machine", row.machine);
}

base::Result<cost::Database::RatesRow> rates_from(const base::Json& json) {
  cost::Database::RatesRow row;
  const base::Json* machine = json.find("machine");
  if (machine == nullptr) return base::bad_input("an entry of 'rates' lacks 'machine'");
  EGRET_ASSIGN_OR_RETURN(row.machine, machine->as_string());
  const auto read = [&](std::string_view name, double& value) -> base::Status {
    const base::Json* found = json.find(name);
    if (found == nullptr)
      return base::bad_input("an entry of 'rates' lacks '" + std::string(name) + "'");
    EGRET_ASSIGN_OR_RETURN(value, found->as_real());
    return value > 0 ? base::ok()
                     : base::bad_input("'" + std::string(name) + "' must be greater than zero");
  };
  EGRET_RETURN_IF_ERROR(read("flops_per_second", row.rates.flops_per_second));
  EGRET_RETURN_IF_ERROR(read("bytes_per_second", row.rates.bytes_per_second));
  EGRET_RETURN_IF_ERROR(read("seconds_per_kernel", row.rates.seconds_per_kernel));
  return row;
}

// The rates in what was exported; earlier exports have none.
base::Status import_rates(const base::Json& json, cost::Database& into) {
  const base::Json* rates = json.find("rates");
  if (rates == nullptr) return base::ok();
  if (!rates->is_array()) return base::bad_input("'rates' must be a list");
  for (const base::Json& item : rates->items()) {
    EGRET_ASSIGN_OR_RETURN(const cost::Database::RatesRow row, rates_from(item));
    EGRET_RETURN_IF_ERROR(into.store_rates(row.machine, row.rates));
  }
  return base::ok();
}

// This machine's name in the database, as the CPU backend measures.
std::string this_machine(const Console& console, const std::string& precision) {
  return driver::machine_fingerprint({.threads = static_cast<int>(console.options().threads),
                                      .precision = backends::precision_named(precision)});
}

class List final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.options(costs_);
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    const std::string machine =
        options_.all_machines ? "" : this_machine(console, options_.precision);
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database_to_read(costs_.cost_db));
    EGRET_ASSIGN_OR_RETURN(const auto rows, database->rows(machine));
    base::Json json = base::versioned_json();
    base::Json entries = base::Json::array();
    base::TextTable table({{"time", base::Align::kRight},
                           {"deviation", base::Align::kRight},
                           {"disturbed"},
                           {"runs", base::Align::kRight},
                           {"operator"}});
    for (const auto& row : rows) {
      entries.push(to_json(row));
      table.row({base::format_seconds(row.entry.median_s), deviation_text(row.entry),
                 row.entry.disturbed ? "yes" : "", base::format_count(row.entry.runs), row.key});
    }
    json.set("entries", std::move(entries));
    console.result(json, rows.empty() ? "nothing is measured yet for " +
                                            (machine.empty() ? "any machine" : machine) + "\n"
                                      : table.render());
    return ExitCode::kOk;
  }

 private:
  CostsOptions costs_;
  ListOptions options_;
};

void show_removed(Console& console, std::int64_t removed) {
  console.result(base::versioned_json().set("removed", removed),
                 base::counted(removed, "measurement") + " removed\n");
}

class Clear final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.options(costs_);
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (options_.all_machines && !options_.machine.empty())
      return base::usage_error("--all-machines cannot be combined with --cost-machine");
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database(costs_.cost_db));
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
  CostsOptions costs_;
  ClearOptions options_;
};

class Prune final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.options(costs_);
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database(costs_.cost_db));
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
  CostsOptions costs_;
  PruneOptions options_;
};

class Merge final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.list("DATABASE", others_, "Databases whose entries to add");
    arguments.options(costs_);
  }

  base::Result<ExitCode> run(Console& console) override {
    // All sources are opened first: a misspelt name leaves the database as it was.
    std::vector<std::unique_ptr<cost::Database>> sources;
    for (const std::string& path : others_) {
      EGRET_ASSIGN_OR_RETURN(auto source, cost::open_database_to_read(path));
      sources.push_back(std::move(source));
    }
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database(costs_.cost_db));
    std::int64_t added = 0;
    for (const auto& other : sources) {
      EGRET_ASSIGN_OR_RETURN(const std::int64_t count, database->merge_from(*other));
      added += count;
    }
    console.result(base::versioned_json().set("added", added),
                   base::counted(added, "entry", "entries") + " added\n");
    return ExitCode::kOk;
  }

 private:
  CostsOptions costs_;
  std::vector<std::string> others_;
};

class Export final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("FILE", path_, "The JSON file to write, or - for standard output");
    arguments.options(costs_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_RETURN_IF_ERROR(check_output(path_, {cost_database(costs_.cost_db)}));
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database_to_read(costs_.cost_db));
    EGRET_ASSIGN_OR_RETURN(const auto rows, database->rows());
    base::Json json = base::versioned_json();
    base::Json entries = base::Json::array();
    for (const auto& row : rows) entries.push(to_json(row));
    json.set("entries", std::move(entries));
    EGRET_ASSIGN_OR_RETURN(const auto known_rates, database->rates());
    base::Json rates = base::Json::array();
    for (const auto& row : known_rates) rates.push(to_json(row));
    json.set("rates", std::move(rates));
    EGRET_RETURN_IF_ERROR(write_output(console, path_, json.dump(1) + "\n"));
    console.note(base::counted(static_cast<std::int64_t>(rows.size()), "entry", "entries") +
                 " written");
    return ExitCode::kOk;
  }

 private:
  CostsOptions costs_;
  std::string path_;
};

class Import final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("FILE", path_, "A JSON file that `egret costs export` wrote, or -");
    arguments.options(costs_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const std::string text, read_input(path_, kMostExportBytes));
    auto json = base::Json::parse(text);
    if (!json.ok()) return json.status().at(path_);
    if (const base::Status status = base::check_schema_version(*json, "costs"); !status.ok())
      return status.at(path_);
    const base::Json* entries = json->find("entries");
    if (entries == nullptr || !entries->is_array())
      return base::bad_input(path_ + ": the list 'entries' is missing");
    EGRET_ASSIGN_OR_RETURN(const auto read, cost::Database::open(":memory:"));
    for (std::size_t i = 0; i < entries->items().size(); ++i) {
      const auto row = row_from(entries->items()[i]);
      if (!row.ok()) return row.status().at(path_ + ": entry " + std::to_string(i));
      EGRET_RETURN_IF_ERROR(read->store(row->machine, row->key, row->entry));
    }
    if (const base::Status status = import_rates(*json, *read); !status.ok())
      return status.at(path_);
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database(costs_.cost_db));
    EGRET_ASSIGN_OR_RETURN(const std::int64_t added, database->merge_from(*read));
    console.result(base::versioned_json().set("added", added),
                   base::counted(added, "entry", "entries") + " added\n");
    return ExitCode::kOk;
  }

 private:
  CostsOptions costs_;
  std::string path_;
};

}  // namespace

Verb costs_list_verb() {
  return {"costs list", "List measured costs",
          "Prints the operators that were measured on this machine: median time, relative median "
          "absolute deviation, number of runs, and whether other processes used the processors "
          "meanwhile.",
          make_command<List>};
}
Verb costs_merge_verb() {
  return {"costs merge", "Add the entries of other databases",
          "Existing entries are not changed. Entries of different machines are kept separately.",
          make_command<Merge>};
}
Verb costs_export_verb() {
  return {"costs export", "Write the measured costs as JSON",
          "Writes all entries and rates of all machines.", make_command<Export>};
}
Verb costs_import_verb() {
  return {"costs import", "Read measured costs from JSON",
          "Adds the entries that `egret costs export` wrote. Existing entries are not changed.",
          make_command<Import>};
}
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

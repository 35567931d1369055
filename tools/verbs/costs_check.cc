// SPDX-License-Identifier: Apache-2.0
// `egret costs check`: how wrong interpolation is on what was measured.
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "cost/database.h"
#include "cost/prediction_check.h"
#include "driver/measure/calibration.h"
#include "driver/measure/machine_fingerprint.h"
#include "driver/prices/cost_choice.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct CheckOptions {
  std::string cost_db;
  std::string known_db;
  std::string machine;

  static const base::OptionTable<CheckOptions>& table() {
    using C = CheckOptions;
    static const base::OptionTable<C> rows{
        "costs check",
        {{"cost-db", &C::cost_db, cost::kDatabaseHelp, base::path()},
         {"known-db", &C::known_db,
          "Predict the entries that this database lacks from it, instead of predicting each entry "
          "from all others",
          base::path()},
         {"cost-machine", &C::machine, cost::kMachineHelp}}};
    return rows;
  }
};

base::Json to_json(const cost::PredictionError& error) {
  return base::Json::object()
      .set("operator", error.op)
      .set("entries", error.entries)
      .set("predicted", error.predicted)
      .set("median_error", error.median)
      .set("p90_error", error.p90)
      .set("roofline_median_error", error.roofline_median)
      .set("roofline_p90_error", error.roofline_p90);
}

void add_row(base::TextTable& table, const cost::PredictionError& error, const std::string& name) {
  table.row({name, base::format_count(error.entries), base::format_count(error.predicted),
             base::format_percent(error.median), base::format_percent(error.p90),
             base::format_percent(error.roofline_median),
             base::format_percent(error.roofline_p90)});
}

std::string to_text(const cost::PredictionCheck& check) {
  base::TextTable table({{"operator"},
                         {"entries", base::Align::kRight},
                         {"predicted", base::Align::kRight},
                         {"median error", base::Align::kRight},
                         {"p90", base::Align::kRight},
                         {"roofline", base::Align::kRight},
                         {"p90", base::Align::kRight}});
  for (const cost::PredictionError& error : check.by_operator) add_row(table, error, error.op);
  table.rule();
  add_row(table, check.all, "all");
  std::string text = table.render();
  if (check.free > 0) {
    text += base::format_count(check.free) + " more take no time, of which " +
            base::format_count(check.free_predicted) + " are predicted so\n";
  }
  return text;
}

class Check final : public Command {
 public:
  void declare(Arguments& arguments) override { arguments.options(options_); }

  base::Result<ExitCode> run(Console& console) override {
    const driver::Execution execution{.threads = static_cast<int>(console.options().threads)};
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database_to_read(options_.cost_db));
    std::string machine = driver::machine_fingerprint(execution);
    if (!options_.machine.empty()) {
      EGRET_ASSIGN_OR_RETURN(machine, driver::machine_called(*database, options_.machine));
    }
    EGRET_ASSIGN_OR_RETURN(const auto rows, database->rows(machine));
    EGRET_ASSIGN_OR_RETURN(const driver::KnownRates known,
                           driver::known_rates(*database, machine, execution));
    cost::PredictionCheck check;
    if (options_.known_db.empty()) {
      check = cost::check_leaving_one_out(rows, known.rates);
    } else {
      EGRET_ASSIGN_OR_RETURN(const auto from, cost::open_database_to_read(options_.known_db));
      EGRET_ASSIGN_OR_RETURN(const auto others, from->rows(machine));
      check = cost::check_from(rows, others, known.rates);
    }
    report(machine, known, check, !rows.empty(), console);
    return ExitCode::kOk;
  }

 private:
  static void report(const std::string& machine, const driver::KnownRates& known,
                     const cost::PredictionCheck& check, bool is_measured, Console& console) {
    base::Json operators = base::Json::array();
    for (const cost::PredictionError& error : check.by_operator) operators.push(to_json(error));
    const std::string rates = known.measured ? "measured" : "assumed";
    const bool empty = check.all.entries == 0 && check.free == 0;
    const std::string nothing = is_measured ? "the other database has all that is measured for "
                                            : "nothing is measured yet for ";
    console.result(base::versioned_json()
                       .set("machine", machine)
                       .set("rates_measured", known.measured)
                       .set("all", to_json(check.all))
                       .set("free", check.free)
                       .set("free_predicted", check.free_predicted)
                       .set("operators", std::move(operators)),
                   empty ? nothing + machine + "\n"
                         : to_text(check) + "rates of the roofline are " + rates + "\n");
  }

  CheckOptions options_;
};

}  // namespace

Verb costs_check_verb() {
  return {"costs check", "Measure the error of interpolated costs",
          "Predicts the time of each measured operator from all others by interpolation. Prints "
          "the median and the 90th percentile of the error, beside the error of the roofline "
          "model. The error is the factor between prediction and measurement, minus one.\n\nWith "
          "--known-db, the entries of one database are predicted from another database. This is "
          "the case of a model that was never measured.",
          make_command<Check>};
}

}  // namespace egret::tools

// SPDX-License-Identifier: Apache-2.0
// `egret costs calibrate`: the rates that estimates rest on, measured.
#include "backends/backend.h"
#include "cost/database.h"
#include "driver/measure/calibration.h"
#include "driver/measure/machine_fingerprint.h"
#include "tools/console/rates_report.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct CalibrateOptions {
  std::string cost_db;
  std::string backend = "cpu";
  std::string precision = "f32";

  static const base::OptionTable<CalibrateOptions>& table() {
    using C = CalibrateOptions;
    static const base::OptionTable<C> rows{
        "costs calibrate",
        {{"cost-db", &C::cost_db, cost::kDatabaseHelp, base::path()},
         {"backend", &C::backend, "Backend whose rates are measured"},
         {"precision", &C::precision, "What products are computed in",
          base::one_of(backends::precision_names())}}};
    return rows;
  }
};

class Calibrate final : public Command {
 public:
  void declare(Arguments& arguments) override { arguments.options(options_); }

  base::Result<ExitCode> run(Console& console) override {
    const backends::Backend* backend = backends::find_backend(options_.backend);
    if (backend == nullptr)
      return base::usage_error("no backend is called '" + options_.backend + "'");
    const backends::Precision precision = backends::precision_named(options_.precision);
    EGRET_RETURN_IF_ERROR(backend->takes_precision(precision));
    EGRET_RETURN_IF_ERROR(backend->availability());
    const driver::Execution execution{options_.backend, static_cast<int>(console.options().threads),
                                      precision};
    const std::string machine = driver::machine_fingerprint(execution);
    EGRET_ASSIGN_OR_RETURN(const auto database, cost::open_database(options_.cost_db));
    EGRET_ASSIGN_OR_RETURN(const cost::Rates rates, driver::measured_rates(execution));
    EGRET_RETURN_IF_ERROR(database->store_rates(machine, rates));
    const cost::Rates assumed = driver::assumed_rates(execution);
    console.result(base::versioned_json()
                       .set("machine", machine)
                       .set("rates", rates_json(rates))
                       .set("assumed", rates_json(assumed)),
                   machine + "\n  " + rates_text(rates) +
                       "\n  assumed where nothing is measured: " + rates_text(assumed) + "\n");
    return ExitCode::kOk;
  }

 private:
  CalibrateOptions options_;
};

}  // namespace

Verb costs_calibrate_verb() {
  return {"costs calibrate", "Measure the rates that estimates of costs rest on",
          "Measures, in about two seconds, what this machine can do at best with the threads asked "
          "for: arithmetic by a large product of matrices, memory traffic by a sum of long arrays, "
          "and the start of a kernel. The database of costs keeps the rates, in place of earlier "
          "ones; estimating cost models, interpolation and `egret bench --kernels` use them.",
          make_command<Calibrate>};
}

}  // namespace egret::tools

// SPDX-License-Identifier: Apache-2.0
// `egret costs calibrate`: the rates that estimates rest on, measured.
#include "backends/backend.h"
#include "backends/named_backend.h"
#include "backends/option_help.h"
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
         {"backend", &C::backend, backends::kBackendHelp},
         {"precision", &C::precision, backends::kPrecisionHelp,
          base::one_of(backends::precision_names())}}};
    return rows;
  }
};

class Calibrate final : public Command {
 public:
  void declare(Arguments& arguments) override { arguments.options(options_); }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const backends::Backend* backend,
                           backends::backend_called(options_.backend));
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
  return {"costs calibrate", "Measure the rates of this machine for cost estimates",
          "Measures peak arithmetic (a large matrix product), memory bandwidth (a sum of long "
          "arrays) and the start time of a kernel, for the given number of threads. This takes "
          "about two seconds. The rates replace earlier ones in the cost database. Estimating cost "
          "models, interpolation and `egret bench --kernels` use them.",
          make_command<Calibrate>};
}

}  // namespace egret::tools

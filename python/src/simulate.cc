// SPDX-License-Identifier: Apache-2.0
// egret.simulate(): a step of a transformer on a cluster.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "base/system/file.h"
#include "parallel/simulator/chrome_trace.h"
#include "parallel/simulator/step_json.h"
#include "python/src/bindings.h"
#include "python/src/options.h"

namespace egret::python {
namespace {

struct SystemOptions {
  std::string system = "dgx-a100";

  static const base::OptionTable<SystemOptions>& table() {
    using S = SystemOptions;
    static const base::OptionTable<S> rows{
        "simulate-system",
        {{"system", &S::system, "Devices and links: a TOML file, or a preset such as dgx-a100",
          base::path()}}};
    return rows;
  }
};

struct Arguments {
  SystemOptions system;
  parallel::TrainingSetup setup;
  parallel::StepOptions options;
};

struct Simulated {
  parallel::StepSimulation simulation;
  parallel::StepReport report;
};

base::Result<Simulated> simulated(const Arguments& arguments, base::ProgressSink* progress) {
  EGRET_ASSIGN_OR_RETURN(const parallel::System system,
                         parallel::system_called(arguments.system.system));
  EGRET_ASSIGN_OR_RETURN(
      parallel::StepSimulation simulation,
      parallel::StepSimulation::make(system, arguments.setup, arguments.options));
  parallel::StepReport report = simulation.report();
  if (arguments.options.samples()) {
    EGRET_ASSIGN_OR_RETURN(report.distribution, simulation.sample(progress));
  }
  return Simulated{std::move(simulation), std::move(report)};
}

Simulated simulate(const OptionTexts& options, const nb::object& progress) {
  Arguments arguments;
  fill_options(options, arguments.system, arguments.setup, arguments.options);
  Call call(progress);
  return call.run([&] { return simulated(arguments, call.progress()); }).value();
}

}  // namespace

void bind_simulate(nb::module_& module) {
  nb::class_<Simulated>(module, "Simulated")
      .def_prop_ro("text",
                   [](const Simulated& s) { return to_json(s.simulation, s.report).dump(1); })
      .def("write_trace", [](const Simulated& s, const std::string& path) {
        const base::Status status =
            base::write_file(path, parallel::chrome_trace(s.simulation, s.report));
        if (!status.ok()) raise(status);
      });
  module.def("simulate", &simulate, nb::arg("options"), nb::arg("progress").none());
  module.def("simulate_options", [] {
    Arguments arguments;
    return describe(arguments.system, arguments.setup, arguments.options);
  });
}

}  // namespace egret::python

// SPDX-License-Identifier: Apache-2.0
// egret.plan_offload(): generation beyond the accelerator's memory.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "parallel/offload/expert_planner.h"
#include "parallel/offload/offload_plan_file.h"
#include "parallel/offload/offload_planner.h"
#include "python/src/bindings.h"
#include "python/src/options.h"

namespace egret::python {
namespace {

struct OffloadMachine {
  std::string machine = "t4-flexgen";
  bool explain = false;

  static const base::OptionTable<OffloadMachine>& table() {
    using M = OffloadMachine;
    static const base::OptionTable<M> rows{
        "offload-machine",
        {{"machine", &M::machine,
          "Machine with a host: a TOML file, or a preset such as t4-flexgen", base::path()},
         {"explain", &M::explain, "Find the best plan with another value of each choice"}}};
    return rows;
  }
};

struct Arguments {
  OffloadMachine machine;
  parallel::GenerationSetup setup;
  parallel::OffloadOptions options;
};

struct PlannedOffload {
  std::string json, toml;  // TOML is empty with experts
};

base::Result<PlannedOffload> planned(const Arguments& arguments, base::ProgressSink* progress) {
  const std::string& name = arguments.machine.machine;
  EGRET_ASSIGN_OR_RETURN(const parallel::HostedSystem system, parallel::hosted_system_called(name));
  if (arguments.setup.experts > 0) {
    EGRET_ASSIGN_OR_RETURN(const parallel::ExpertPlan plan,
                           parallel::plan_experts(system, arguments.setup));
    return PlannedOffload{to_json(plan, name).dump(1), ""};
  }
  EGRET_ASSIGN_OR_RETURN(const parallel::OffloadPlan plan,
                         parallel::plan_offload(system, arguments.setup, arguments.options,
                                                arguments.machine.explain, progress));
  return PlannedOffload{to_json(plan, name).dump(1), to_toml(plan, name)};
}

PlannedOffload plan_offload(const OptionTexts& options, const nb::object& progress) {
  Arguments arguments;
  fill_options(options, arguments.machine, arguments.setup, arguments.options);
  Call call(progress);
  return call.run([&] { return planned(arguments, call.progress()); }).value();
}

}  // namespace

void bind_plan_offload(nb::module_& module) {
  nb::class_<PlannedOffload>(module, "PlannedOffload")
      .def_ro("text", &PlannedOffload::json)
      .def_ro("config", &PlannedOffload::toml);
  module.def("plan_offload", &plan_offload, nb::arg("options"), nb::arg("progress").none());
  module.def("plan_offload_options", [] {
    Arguments arguments;
    return describe(arguments.machine, arguments.setup, arguments.options);
  });
}

}  // namespace egret::python

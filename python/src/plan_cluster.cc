// SPDX-License-Identifier: Apache-2.0
// egret.plan_cluster(): the training of a transformer on a cluster.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <utility>

#include "parallel/cluster_plan/cluster_plan_file.h"
#include "parallel/cluster_plan/cluster_planner.h"
#include "python/src/bindings.h"
#include "python/src/options.h"

namespace egret::python {
namespace {

struct ClusterMachine {
  std::string machine = "local";
  bool explain = false;

  static const base::OptionTable<ClusterMachine>& table() {
    using M = ClusterMachine;
    static const base::OptionTable<M> rows{
        "plan-machine",
        {{"machine", &M::machine, "Machine: a TOML file, or a preset such as dgx-h100",
          base::path()},
         {"explain", &M::explain, "Find the best plan with another value of each choice"}}};
    return rows;
  }
};

struct Arguments {
  ClusterMachine machine;
  parallel::ClusterPlanOptions cluster;
  parallel::TrainingSetup setup;
  parallel::StepOptions step;
};

struct PlannedCluster {
  std::string json, toml;
};

base::Result<PlannedCluster> planned(const Arguments& arguments, const OptionTexts& texts,
                                     base::ProgressSink* progress) {
  const std::string& name = arguments.machine.machine;
  EGRET_ASSIGN_OR_RETURN(const parallel::System system, parallel::system_called(name));
  const parallel::FixedChoices fixed =
      parallel::fixed_choices(arguments.setup, arguments.step, [&](std::string_view option) {
        return std::ranges::any_of(texts, [&](const auto& one) { return one.first == option; });
      });
  EGRET_ASSIGN_OR_RETURN(
      const parallel::ClusterPlan plan,
      parallel::plan_cluster({system, arguments.setup, arguments.step, fixed}, arguments.cluster,
                             arguments.machine.explain, progress));
  return PlannedCluster{to_json(plan, name).dump(1), to_toml(plan, name)};
}

PlannedCluster plan_cluster(const OptionTexts& options, const nb::object& progress) {
  Arguments arguments;
  fill_options(options, arguments.machine, arguments.cluster, arguments.setup, arguments.step);
  Call call(progress);
  return call.run([&] { return planned(arguments, options, call.progress()); }).value();
}

}  // namespace

void bind_plan_cluster(nb::module_& module) {
  nb::class_<PlannedCluster>(module, "PlannedCluster")
      .def_ro("text", &PlannedCluster::json)
      .def_ro("config", &PlannedCluster::toml);
  module.def("plan_cluster", &plan_cluster, nb::arg("options"), nb::arg("progress").none());
  module.def("plan_cluster_options", [] {
    Arguments arguments;
    return describe(arguments.machine, arguments.cluster, arguments.setup, arguments.step);
  });
}

}  // namespace egret::python

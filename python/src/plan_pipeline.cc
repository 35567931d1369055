// SPDX-License-Identifier: Apache-2.0
// egret.plan_pipeline(): the training of a model on a pipeline of ranks.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "ir/autodiff/training_arguments.h"
#include "parallel/machine/named_cluster.h"
#include "parallel/pipeline_plan/pipeline_plan_file.h"
#include "python/src/bindings.h"
#include "python/src/models.h"
#include "python/src/options.h"

namespace egret::python {
namespace {

struct PipelineMachine {
  std::string mesh;
  std::string machine = "local";
  std::int64_t device_memory = 0;

  static const base::OptionTable<PipelineMachine>& table() {
    using M = PipelineMachine;
    static const base::OptionTable<M> rows{
        "plan-machine",
        {{"mesh", &M::mesh, parallel::kMeshHelp},
         {"machine", &M::machine,
          "Machine: a TOML file, or a preset such as local, dgx-h100, gh200 or tpu-v4",
          base::path()},
         {"device-memory", &M::device_memory, "Memory limit of one device; 0: the machine's memory",
          base::bytes()}}};
    return rows;
  }
};

struct Arguments {
  PipelineMachine machine;
  driver::ModelOptions model;
  ir::TrainingArguments training;
  parallel::PipelinePlanOptions pipeline;
};

struct PlannedPipelines {
  std::string json, toml;
};

base::Result<PlannedPipelines> planned(const driver::ModelSource& source,
                                       const Arguments& arguments, base::ProgressSink* progress) {
  EGRET_ASSIGN_OR_RETURN(
      const parallel::Cluster machine,
      parallel::cluster_called(arguments.machine.machine, arguments.machine.mesh));
  EGRET_ASSIGN_OR_RETURN(const driver::ConcreteModel read,
                         driver::read_concrete_model(source, arguments.model));
  const double memory = machine.memory_limit(arguments.machine.device_memory);
  const ir::TrainingOptions training = arguments.training.options();
  EGRET_ASSIGN_OR_RETURN(const parallel::PipelinePlan plan,
                         parallel::plan_pipeline({read.model.graph, training, memory}, machine,
                                                 arguments.pipeline, progress));
  return PlannedPipelines{
      to_json(plan, machine.name).dump(1),
      to_toml(plan, arguments.training, source.path, arguments.machine.machine)};
}

PlannedPipelines plan_pipeline(const Model& model, const OptionTexts& options,
                               const nb::object& progress) {
  Arguments arguments;
  fill_options(options, arguments.machine, arguments.model, arguments.training, arguments.pipeline);
  const driver::ModelSource source = model.source();
  Call call(progress);
  return call.run([&] { return planned(source, arguments, call.progress()); }).value();
}

}  // namespace

void bind_plan_pipeline(nb::module_& module) {
  nb::class_<PlannedPipelines>(module, "PlannedPipelines")
      .def_ro("text", &PlannedPipelines::json)
      .def_ro("config", &PlannedPipelines::toml);
  module.def("plan_pipeline", &plan_pipeline, nb::arg("model"), nb::arg("options"),
             nb::arg("progress").none());
  module.def("plan_pipeline_options", [] {
    Arguments arguments;
    return describe(arguments.machine, arguments.model, arguments.training, arguments.pipeline);
  });
}

}  // namespace egret::python

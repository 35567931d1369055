// SPDX-License-Identifier: Apache-2.0
// egret.plan(): a model on a mesh of devices.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "base/system/file.h"
#include "driver/plan_training.h"
#include "driver/proofs/plan_certificate.h"
#include "driver/report/plan_page.h"
#include "ir/autodiff/training_arguments.h"
#include "parallel/machine/named_cluster.h"
#include "parallel/placed/program_interface.h"
#include "parallel/plan/plan_file.h"
#include "python/src/bindings.h"
#include "python/src/models.h"
#include "python/src/options.h"

namespace egret::python {
namespace {

struct MachineOptions {
  std::string mesh;
  std::string machine = "local";
  bool train = false;

  static const base::OptionTable<MachineOptions>& table() {
    using M = MachineOptions;
    static const base::OptionTable<M> rows{
        "plan-machine",
        {{"mesh", &M::mesh, parallel::kMeshHelp},
         {"machine", &M::machine,
          "Machine: a TOML file, or a preset such as local, dgx-h100, gh200 or tpu-v4",
          base::path()},
         {"train", &M::train, "Plan one training step of the model; implies sharded_inputs"}}};
    return rows;
  }
};

struct Arguments {
  MachineOptions machine;
  driver::ModelOptions model;
  parallel::ParallelPlanOptions plan;
  ir::TrainingArguments training;

  void fill(const OptionTexts& texts) { fill_options(texts, machine, model, plan, training); }
};

struct Planned {
  parallel::ParallelPlan plan;
  parallel::PlanOrigin origin;
  parallel::Cluster machine;
  ir::Graph graph;  // of the model
  parallel::ParallelPlanOptions options;
};

base::Result<Planned> planned(const driver::ModelSource& source, const Arguments& arguments,
                              base::ProgressSink* progress) {
  EGRET_ASSIGN_OR_RETURN(
      const parallel::Cluster machine,
      parallel::cluster_called(arguments.machine.machine, arguments.machine.mesh));
  EGRET_ASSIGN_OR_RETURN(driver::ConcreteModel read,
                         driver::read_concrete_model(source, arguments.model));
  ir::Graph& graph = read.model.graph;
  parallel::PlanOrigin origin{
      .model = source.path, .bind = arguments.model.bind, .machine = machine.name};
  origin.model_hash = parallel::model_hash(graph);
  const bool trains = arguments.machine.train;
  parallel::ParallelPlanOptions options = arguments.plan;
  driver::simulate_overlap(options, machine);
  EGRET_ASSIGN_OR_RETURN(
      parallel::ParallelPlan plan,
      trains ? driver::plan_training(graph, arguments.training, machine, options, source.path,
                                     progress)
             : parallel::make_plan(parallel::PlanTask{graph}, machine, options, progress));
  if (trains) origin.training = ir::to_json(arguments.training);
  return Planned{std::move(plan), std::move(origin), machine, std::move(graph), arguments.plan};
}

Planned plan(const Model& model, const OptionTexts& options, const nb::object& progress) {
  Arguments arguments;
  arguments.fill(options);
  const driver::ModelSource source = model.source();
  Call call(progress);
  return call.run([&] { return planned(source, arguments, call.progress()); }).value();
}

}  // namespace

void bind_plan(nb::module_& module) {
  nb::class_<Planned>(module, "Planned")
      .def_prop_ro("text", [](const Planned& p) { return to_json(p.plan, p.origin).dump(1); })
      .def("certificate",
           [](const Planned& p) {
             Call call;
             return call
                 .run([&] {
                   return driver::plan_certificate(p.graph, to_json(p.plan, p.origin), p.options);
                 })
                 .value();
           })
      .def("write_report", [](const Planned& p, const std::string& path) {
        const base::Status status = base::write_file(
            path, render(driver::plan_page(p.plan, p.origin, p.machine, EGRET_VERSION)));
        if (!status.ok()) raise(status);
      });
  module.def("plan", &plan, nb::arg("model"), nb::arg("options"), nb::arg("progress").none());
  module.def("plan_options", [] {
    Arguments arguments;
    return describe(arguments.machine, arguments.model, arguments.plan, arguments.training);
  });
}

}  // namespace egret::python

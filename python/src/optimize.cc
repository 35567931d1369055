// SPDX-License-Identifier: Apache-2.0
// egret.optimize().
#include "driver/optimize.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>

#include "base/formats/json.h"
#include "base/system/file.h"
#include "driver/certificate.h"
#include "driver/kernel_comparison.h"
#include "driver/models/open_model.h"
#include "driver/optimize_page.h"
#include "driver/written_model.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/callbacks.h"
#include "python/src/models.h"
#include "python/src/options.h"
#include "python/src/rules.h"

namespace egret::python {
namespace {

struct OutputOptions {
  std::string external_data;
  std::string certificate;
  std::string report;
  bool strict = false;

  static const base::OptionTable<OutputOptions>& table() {
    using O = OutputOptions;
    static const base::OptionTable<O> rows{
        "output",
        {{"external-data", &O::external_data,
          "File for the weights of a model above 2 GiB, in the folder that the result is saved to",
          base::output_file()},
         {"certificate", &O::certificate,
          "File for a proof, step by step, that the outputs of the result equal those of the model "
          "in real arithmetic; check_certificate() and egret-check replay it",
          base::output_file()},
         {"report", &O::report, std::string(driver::kReportHelp), base::output_file()},
         {"strict", &O::strict,
          "Refuse a model with nodes that would stay as they are because Egret cannot express "
          "them"}}};
    return rows;
  }
};

struct Arguments {
  OutputOptions output;
  CommonOptions common;
  driver::ModelOptions model;
  driver::SizeOptions sizes;
  driver::OptimizeOptions optimize;

  void fill(const OptionTexts& texts) {
    fill_options(texts, output, common, model, sizes, optimize);
    optimize.threads = common.threads;
  }
};

// What came of it: the model is written as bytes, weights beyond 2 GiB to the file that was asked
// for when the result is saved.
struct Optimized {
  frontends::ExportedModel model;
  // What a page shows. Most results get none, so it is made when it is asked for.
  std::string name;
  ir::Graph program;
  driver::OptimizeResult result;
  std::vector<std::string> notes;
  bool interrupted = false;

  base::Status write_page(const std::string& path) const {
    return base::write_file(path, render(driver::optimize_page(
                                      program, result, {.model = name, .version = EGRET_VERSION})));
  }
};

base::Result<Optimized> optimized(const driver::ModelSource& source, const Arguments& arguments,
                                  base::ProgressSink* progress) {
  std::optional<rules::OpenSizes> open;
  driver::OptimizeOptions how = arguments.optimize;
  EGRET_ASSIGN_OR_RETURN(const driver::InputValues given, values_for(source, how.given_inputs));
  how.given_inputs = given.values;
  for (ir::GivenInputs& sample : how.samples) {
    EGRET_ASSIGN_OR_RETURN(driver::InputValues values, values_for(source, sample));
    sample = std::move(values.values);
  }
  EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model,
                         driver::read_open_model(source, arguments.model, arguments.sizes, given,
                                                 open, how.keeps_rounding()));
  if (arguments.output.strict) EGRET_RETURN_IF_ERROR(driver::check_defined(model.graph));
  how.explain = !arguments.output.certificate.empty();
  how.written_like = std::make_shared<const frontends::OnnxModelInfo>(model.info);
  if (arguments.model.bind.empty())
    how.model_file = std::make_shared<const driver::ModelSource>(source);
  EGRET_ASSIGN_OR_RETURN(driver::OptimizeResult result,
                         driver::optimize(model.graph, how, progress, open ? &*open : nullptr));
  Optimized all;
  const driver::OracleQuestion question{.original = source,
                                        .read = model,
                                        .options = how,
                                        .open = open ? &*open : nullptr,
                                        .progress = progress};
  EGRET_ASSIGN_OR_RETURN(all.model, driver::checked_model(result, question, EGRET_VERSION,
                                                          arguments.output.external_data));
  if (how.explain) {
    EGRET_ASSIGN_OR_RETURN(
        const std::string certificate,
        driver::certificate_of(result,
                               {source, model.info, arguments.model.bind, how.keeps_rounding()},
                               all.model, open ? &*open : nullptr));
    EGRET_RETURN_IF_ERROR(base::write_file(arguments.output.certificate, certificate));
    result.explained.reset();  // the e-graph
  }
  if (!arguments.output.report.empty())
    result.report.kernels = driver::kernels_of(model.graph, result, how, open ? &*open : nullptr);
  all.name = std::filesystem::path(source.path).filename().string();
  all.program = std::move(model.graph);
  all.result = std::move(result);
  all.notes = std::move(model.notes);
  if (!all.model.raised_for.empty())
    all.notes.push_back("the opset is raised for " + all.model.raised_for);
  if (arguments.output.report.empty()) return all;
  // The result is worth more than its page.
  const base::Status written = all.write_page(arguments.output.report);
  if (!written.ok()) all.notes.push_back("the page was not written: " + written.message());
  return all;
}

// One set of inputs, or several: samples for an error budget.
void take_inputs(const nb::list& sets, driver::OptimizeOptions& how) {
  std::vector<ir::GivenInputs> values;
  for (const nb::handle& set : sets) values.push_back(tensors_of(nb::cast<nb::dict>(set)));
  if (values.size() > 1 && how.error_budget == 0)
    raise(base::usage_error("several sets of inputs are samples for error_budget"));
  if (!values.empty()) how.given_inputs = values.front();
  if (how.error_budget > 0) how.samples = std::move(values);
}

Optimized optimize(const Model& model, const OptionTexts& options, const nb::list& inputs,
                   const nb::object& progress, const nb::object& rules, const nb::object& extractor,
                   const nb::object& cost, const nb::object& scheduler) {
  Arguments arguments;
  arguments.fill(options);
  for (const std::string& file : {arguments.output.report, arguments.output.certificate}) {
    const base::Status writable = file.empty() ? base::ok() : base::check_writable(file);
    if (!writable.ok()) raise(writable);
  }
  driver::OptimizeOptions& how = arguments.optimize;
  take_inputs(inputs, how);
  Call call(progress, OnInterrupt::kKeepResult);
  if (!rules.is_none()) admit(nb::cast<const Rules&>(rules), how);
  if (!extractor.is_none()) use_extractor(call, extractor, how);
  if (!cost.is_none()) use_cost_model(call, cost, how);
  if (!scheduler.is_none()) use_scheduler(call, scheduler, how);
  const driver::ModelSource source = model.source();
  auto result = call.run([&] { return optimized(source, arguments, call.progress()); });
  result->interrupted = call.interrupted();
  return *std::move(result);
}

// The report as JSON.
std::string check_certificate(const Model& before, const Model& after, const std::string& path,
                              const std::vector<std::string>& rule_files) {
  Call call;
  const driver::ModelSource first = before.source();
  const driver::ModelSource second = after.source();
  const auto check =
      call.run([&] { return driver::check_certificate(first, second, path, rule_files); });
  base::Json sizes = base::Json::object();
  for (const auto& [name, size] : check->sizes) sizes.set(name, size);
  base::Json open = base::Json::object();
  for (const auto& [name, range] : check->open) {
    base::Json bounds = base::Json::array();
    open.set(name, bounds.push(range.least).push(range.most));
  }
  base::Json made = base::Json::object();
  made.set("outputs", check->outputs).set("steps", check->report.steps);
  made.set("rules", check->rules).set("rule_steps", check->report.rule_steps);
  made.set("folds", check->report.folds).set("code_steps", check->report.code_steps);
  made.set("size_facts", check->obligations).set("reals", check->reals);
  base::Json assumptions = base::Json::array();
  for (const std::string& one : check->assumptions) assumptions.push(one);
  made.set("assumptions", std::move(assumptions));
  return made.set("sizes", std::move(sizes)).set("open_sizes", std::move(open)).dump();
}

}  // namespace

void bind_optimize(nb::module_& module) {
  nb::class_<Optimized>(module, "Optimized")
      .def_prop_ro(
          "bytes",
          [](const Optimized& o) { return nb::bytes(o.model.bytes.data(), o.model.bytes.size()); })
      .def("write",
           [](Optimized& o, const std::string& path) {
             const base::Status status = o.model.write(path);
             if (!status.ok()) raise(status);
           })
      .def("write_report",
           [](const Optimized& o, const std::string& path) {
             const base::Status status = o.write_page(path);
             if (!status.ok()) raise(status);
           })
      .def_prop_ro("report", [](const Optimized& o) { return o.result.report.to_json().dump(); })
      .def_prop_ro("summary", [](const Optimized& o) { return o.result.report.summary(); })
      .def_prop_ro("warning", [](const Optimized& o) { return o.result.report.predicted.warning; })
      .def_ro("notes", &Optimized::notes)
      .def_ro("interrupted", &Optimized::interrupted);
  module.def("optimize", &optimize, nb::arg("model"), nb::arg("options"), nb::arg("inputs"),
             nb::arg("progress").none(), nb::arg("rules").none(), nb::arg("extractor").none(),
             nb::arg("cost").none(), nb::arg("scheduler").none());
  module.def("check_certificate", &check_certificate, nb::arg("before"), nb::arg("after"),
             nb::arg("path"), nb::arg("rule_files"));
  module.def("optimize_options", [] {
    Arguments arguments;
    return describe(arguments.output, arguments.common, arguments.model, arguments.sizes,
                    arguments.optimize);
  });
}

}  // namespace egret::python

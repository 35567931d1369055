// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "backends/kernel_work.h"
#include "driver/output_check.h"
#include "tools/backend_arguments.h"
#include "tools/kernel_report.h"
#include "tools/model_file.h"
#include "tools/verb.h"

namespace egret::tools {
namespace {

struct RunOptions {
  std::string output_folder;
  std::string trace;
  bool check = false;

  static const base::OptionTable<RunOptions>& table() {
    using R = RunOptions;
    static const base::OptionTable<R> rows{
        "run",
        {{"output-folder", &R::output_folder, "Write each output as output_K.pb into this folder",
          base::path()},
         {"trace", &R::trace,
          "Write when each kernel ran, and what it computed and moved, into this file, which "
          "chrome://tracing and Perfetto read; the run is then the second one",
          base::path()},
         {"check", &R::check,
          "Compare the outputs with the f64 interpreter; exit 6 where they differ"}}};
    return rows;
  }
};

class Run final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file, or - for standard input");
    arguments.options(options_);
    arguments.options(model_);
    arguments.options(backend_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const frontends::ImportedModel model,
                           read_concrete_model(path_, model_, console));
    EGRET_ASSIGN_OR_RETURN(const auto plan,
                           compile_plan(model.graph, backend_, console, !options_.trace.empty()));
    EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> inputs,
                           model_inputs(model.graph, backend_));
    EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> outputs, plan->run(inputs));
    report_fallbacks(*plan, console);
    if (!options_.trace.empty()) EGRET_RETURN_IF_ERROR(write_trace(*plan, model, inputs, console));

    base::Json json = base::versioned_json();
    base::Json list = base::Json::array();
    std::string text;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = model.graph.outputs()[i].name;
      list.push(
          base::Json::object().set("name", name).set("type", ir::to_string(outputs[i].type())));
      text += name + "  " + ir::to_string(outputs[i], 8) + "\n";
      if (options_.output_folder.empty()) continue;
      const auto file =
          std::filesystem::path(options_.output_folder) / ("output_" + std::to_string(i) + ".pb");
      EGRET_RETURN_IF_ERROR(
          write_output(console, file.string(), frontends::write_tensor_proto(outputs[i], name)));
    }
    json.set("outputs", std::move(list));
    if (!options_.check) {
      console.result(json, text);
      return ExitCode::kOk;
    }
    EGRET_ASSIGN_OR_RETURN(const auto expected, driver::OutputCheck::of(model.graph, inputs, {}));
    EGRET_ASSIGN_OR_RETURN(
        const driver::CheckReport report,
        expected.check([&](std::span<const ir::Tensor> given) { return plan->run(given); }));
    json.set("max_error", report.max_error).set("bound", report.bound).set("passed", report.passed);
    json.set("vacuous_output", report.vacuous);
    text += driver::to_string(report) + "\n";
    console.result(json, text);
    return report.passed ? ExitCode::kOk : ExitCode::kMismatch;
  }

 private:
  // Of another run: the first one touches memory that was never used.
  base::Status write_trace(backends::Plan& plan, const frontends::ImportedModel& model,
                           std::span<const ir::Tensor> inputs, Console& console) const {
    EGRET_RETURN_IF_ERROR(plan.run(inputs).status());
    const backends::PlanReport report = plan.report();
    EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Work> works,
                           backends::work_of_kernels(model.graph, report));
    return write_output(console, options_.trace, chrome_trace(report, works).dump() + "\n");
  }

  std::string path_;
  RunOptions options_;
  ModelOptions model_;
  BackendOptions backend_;
};

}  // namespace

Verb run_verb() {
  return {"run", "Run a model once",
          "Runs the model on the inputs given by --input, or on random ones, and prints its "
          "outputs. With --check "
          "they are compared with the reference interpreter.",
          make_command<Run>};
}

}  // namespace egret::tools

// SPDX-License-Identifier: Apache-2.0
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "driver/engine/engine.h"
#include "driver/explain_difference.h"
#include "driver/load_in_engine.h"
#include "driver/measure/model_comparison.h"
#include "driver/models/sized_runs.h"
#include "tools/arguments/backend_arguments.h"
#include "tools/arguments/input_files.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/sized_answers.h"
#include "tools/console/check_verdict.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

class Compare final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("A", reference_, "The reference model, an ONNX file");
    arguments.positional("B", candidate_, "The model to compare with it");
    arguments.options(options_);
    arguments.options(model_);
    arguments.options(backend_);
    arguments.options(at_);
    arguments.options(inputs_);
    arguments.options(engine_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const ModelSource source, source_of(reference_));
    EGRET_ASSIGN_OR_RETURN(const std::vector<driver::SizedRun> runs,
                           driver::sized_runs(source, model_, at_, inputs_));
    if (runs.size() > 1 && candidate_ == "-")
      return base::usage_error("B cannot be standard input beside several sizes");
    Models models;
    EGRET_ASSIGN_OR_RETURN(models.engine, driver::start_engine(engine_));
    return answer_runs(
        runs, console, [&](std::size_t i) { return compare(runs[i], source, models, console); },
        [](base::Json& all, ExitCode code) { all.set("passed", code != ExitCode::kMismatch); });
  }

 private:
  // The models at the sizes of the last run, which the next one may have, too.
  struct Models {
    ir::SymbolValues sizes;
    frontends::ImportedModel a;
    ModelSource source_b;
    ir::Graph b;
    std::unique_ptr<backends::ExecutablePlan> plan;
    std::unique_ptr<driver::Engine> engine;  // null: the backend
  };

  base::Status read(const driver::SizedRun& run, const ModelSource& source, Models& models,
                    Console& console) const {
    constexpr BindNames names = BindNames::kMayBeUnknown;
    if (models.plan != nullptr && models.sizes == run.sizes) return base::ok();
    ModelOptions bound = model_;
    bound.bind = run.bind;
    EGRET_ASSIGN_OR_RETURN(models.a, read_concrete_model(source, bound, console, names));
    EGRET_ASSIGN_OR_RETURN(models.source_b, source_of(candidate_));
    EGRET_ASSIGN_OR_RETURN(auto b, read_concrete_model(models.source_b, bound, console, names));
    models.b = std::move(b.graph);
    EGRET_RETURN_IF_ERROR(driver::same_interface(models.a.graph, models.b));
    EGRET_ASSIGN_OR_RETURN(models.plan, plan_of(models.source_b, models.b, models.engine.get(),
                                                !run.given.empty(), console));
    models.sizes = run.sizes;
    return base::ok();
  }

  base::Result<Answer> compare(const driver::SizedRun& run, const ModelSource& source,
                               Models& models, Console& console) const {
    EGRET_RETURN_IF_ERROR(read(run, source, models, console));
    backends::ExecutablePlan* const plan = models.plan.get();
    driver::CheckOptions checking;
    checking.samples = static_cast<int>(options_.samples);
    checking.seed = static_cast<std::uint64_t>(backend_.seed);
    checking.roundoff = roundoff(precision_of(backend_));
    checking.given = run.given;
    EGRET_ASSIGN_OR_RETURN(const driver::CheckReport report,
                           driver::compare_models(models.a.graph, models.b, *plan, checking));
    base::Json json = base::versioned_json();
    add_check(json, report);
    base::Json outputs = base::Json::array();
    base::TextTable table({{"output"},
                           {"largest error", base::Align::kRight},
                           {"bound", base::Align::kRight},
                           {"beyond", base::Align::kRight},
                           {"elements", base::Align::kRight}});
    for (const driver::OutputError& error : report.outputs) {
      outputs.push(base::Json::object()
                       .set("name", error.output)
                       .set("max_error", error.max_error)
                       .set("bound", error.bound)
                       .set("wrong", error.wrong)
                       .set("unstable", error.unstable)
                       .set("elements", error.elements));
      table.row({error.output, base::format_short(error.max_error), base::format_short(error.bound),
                 base::format_count(error.wrong), base::format_count(error.elements)});
    }
    json.set("outputs", std::move(outputs));
    std::string text = table.render() + driver::to_string(report) + "\n";
    const ExitCode kept = keeps_to_arena(*plan, backend_, console);
    if (options_.explain_diff && !report.passed) {
      const driver::ComparedModel b{.source = models.source_b,
                                    .graph = models.b,
                                    .engine = models.engine.get(),
                                    .backend = backend_,
                                    .threads = console.options().threads};
      const auto [found, lines] = driver::explain_difference(models.a.graph, b, report, checking);
      json.set("first_difference", found);
      text += lines;
    }
    const ExitCode verdict = exit_code_of(report);
    return Answer{std::move(json), std::move(text), verdict == ExitCode::kOk ? kept : verdict};
  }

  base::Result<std::unique_ptr<backends::ExecutablePlan>> plan_of(const ModelSource& source,
                                                                  const ir::Graph& graph,
                                                                  const driver::Engine* engine,
                                                                  bool given,
                                                                  Console& console) const {
    if (engine == nullptr) {
      BackendOptions backend = backend_;
      backend.checked_indices = given;
      return compile_plan(graph, backend, console);
    }
    const int threads = static_cast<int>(console.options().threads);
    return driver::load_in_engine(*engine, source, graph, {.threads = threads});
  }

  std::string reference_;
  std::string candidate_;
  driver::ComparisonOptions options_;
  ModelOptions model_;
  BackendOptions backend_;
  driver::AtOptions at_;
  InputOptions inputs_;
  driver::EngineChoice engine_;
};

}  // namespace

Verb compare_verb() {
  return {
      "compare", "Check that two models compute the same outputs",
      "Interprets A in f64, runs B on a backend (or in an --engine, docs/engines.md) with the same "
      "inputs, and compares the outputs by "
      "position. The error bound is estimated by perturbing every value of A by the rounding error "
      "of f32, or of --precision. The exit code is 6 if an output exceeds its bound, and "
      "5 if the bound is so large that another output would not be noticed.\n\n"
      "--explain-diff then names the first value that differs, and says whether the models differ "
      "or the run is wrong (docs/verifying_models.md).",
      make_command<Compare>};
}

}  // namespace egret::tools

// SPDX-License-Identifier: Apache-2.0
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "driver/engine/engine.h"
#include "driver/measure/model_comparison.h"
#include "tools/arguments/backend_arguments.h"
#include "tools/arguments/input_files.h"
#include "tools/arguments/model_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct CompareOptions {
  std::int64_t samples = 1;

  static const base::OptionTable<CompareOptions>& table() {
    using C = CompareOptions;
    static const base::OptionTable<C> rows{
        "compare", {{"samples", &C::samples, "Sets of random inputs", base::range(1, 1000)}}};
    return rows;
  }
};

class Compare final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("A", reference_, "The reference model, an ONNX file");
    arguments.positional("B", candidate_, "The model to compare with it");
    arguments.options(options_);
    arguments.options(model_);
    arguments.options(backend_);
    arguments.options(inputs_);
    arguments.options(engine_);
  }

  base::Result<ExitCode> run(Console& console) override {
    constexpr BindNames names = BindNames::kMayBeUnknown;
    EGRET_ASSIGN_OR_RETURN(const ModelWithInputs reference,
                           read_model_with_inputs(reference_, model_, inputs_, console, names));
    const frontends::ImportedModel& a = reference.model;
    EGRET_ASSIGN_OR_RETURN(const auto b,
                           read_concrete_model(candidate_, reference.bound, console, names));
    EGRET_RETURN_IF_ERROR(driver::same_interface(a.graph, b.graph));
    EGRET_ASSIGN_OR_RETURN(const auto plan, plan_of(b.graph, console));
    driver::CheckOptions checking;
    checking.samples = static_cast<int>(options_.samples);
    checking.seed = static_cast<std::uint64_t>(backend_.seed);
    checking.roundoff = roundoff(precision_of(backend_));
    checking.given = reference.given;
    EGRET_ASSIGN_OR_RETURN(const driver::CheckReport report,
                           driver::compare_models(a.graph, b.graph, *plan, checking));
    base::Json json = base::versioned_json();
    json.set("max_error", report.max_error).set("bound", report.bound).set("passed", report.passed);
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
    json.set("outputs", std::move(outputs)).set("vacuous_output", report.vacuous);
    console.result(json, table.render() + driver::to_string(report) + "\n");
    const ExitCode kept = keeps_to_arena(*plan, backend_, console);
    return report.passed ? kept : ExitCode::kMismatch;
  }

 private:
  base::Result<std::unique_ptr<backends::ExecutablePlan>> plan_of(const ir::Graph& graph,
                                                                  Console& console) const {
    if (engine_.engine.empty()) return compile_plan(graph, backend_, console);
    EGRET_ASSIGN_OR_RETURN(const auto engine,
                           driver::Engine::start(engine_.engine, {.python = engine_.python}));
    const int threads = static_cast<int>(console.options().threads);
    return engine->load(candidate_, graph, {.threads = threads});
  }

  std::string reference_;
  std::string candidate_;
  CompareOptions options_;
  ModelOptions model_;
  BackendOptions backend_;
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
      "of f32, or of --precision. The exit code is 6 if an output exceeds its bound.",
      make_command<Compare>};
}

}  // namespace egret::tools

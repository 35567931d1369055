// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <utility>

#include "backends/prepare.h"
#include "backends/timing/kernel_work.h"
#include "driver/measure/output_check.h"
#include "driver/models/sized_runs.h"
#include "driver/sized_plans.h"
#include "tools/arguments/backend_arguments.h"
#include "tools/arguments/input_files.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/output_file.h"
#include "tools/arguments/plan_arguments.h"
#include "tools/arguments/sized_answers.h"
#include "tools/console/check_verdict.h"
#include "tools/console/kernel_report.h"
#include "tools/frame/allocator.h"
#include "tools/frame/verb.h"

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
        {{"output-folder", &R::output_folder,
          "Write each output as output_K.pb into this folder, or run_N_output_K.pb of several runs",
          base::output_folder()},
         {"trace", &R::trace, "Write a trace to this file, for chrome://tracing or Perfetto",
          base::output_file()},
         {"check", &R::check, kCheckHelp}}};
    return rows;
  }
};

class Run final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file, - for standard input, or a plan (*.json)");
    arguments.options(options_);
    arguments.options(model_);
    arguments.options(backend_);
    arguments.options(at_);
    arguments.options(inputs_);
    arguments.options(plan_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (!options_.check) give_freed_memory_back();  // the interpreter allocates much
    EGRET_RETURN_IF_ERROR(check_not_input(options_.trace, {{"the model", path_}}));
    if (is_plan_file(path_)) return run_plan(console);
    EGRET_ASSIGN_OR_RETURN(const ModelSource source, source_of(path_));
    EGRET_ASSIGN_OR_RETURN(const std::vector<driver::SizedRun> runs,
                           driver::sized_runs(source, model_, at_, inputs_));
    if (runs.size() > 1 && !options_.trace.empty())
      return base::usage_error("--trace cannot be combined with several runs");
    constexpr std::size_t kMostPlans = 16;
    driver::SizedPlans plans(
        {},
        [&](const ir::SymbolValues& sizes) {
          const bool given = std::ranges::any_of(
              runs, [](const driver::SizedRun& run) { return !run.given.empty(); });
          return plan_at(sizes, source, given, console);
        },
        kMostPlans);
    const auto answer_of = [&](std::size_t i) -> base::Result<Answer> {
      EGRET_ASSIGN_OR_RETURN(driver::SizedPlans::Plan* const at, plans.at(runs[i].sizes));
      const std::vector<ir::Tensor> inputs = model_inputs(at->graph, runs[i].given, backend_.seed);
      EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> outputs, at->plan->run(inputs));
      report_fallbacks(*at->plan, console);
      if (!options_.trace.empty())
        EGRET_RETURN_IF_ERROR(write_trace(*at->plan, at->graph, inputs, console));
      const std::string prefix = runs.size() > 1 ? "run_" + std::to_string(i) + "_" : "";
      EGRET_ASSIGN_OR_RETURN(Answer answer, report(
                                                at->graph, inputs, outputs,
                                                [&](std::span<const ir::Tensor> given) {
                                                  return at->plan->run(given);
                                                },
                                                prefix, console));
      if (answer.code == ExitCode::kOk) answer.code = keeps_to_arena(*at->plan, backend_, console);
      return answer;
    };
    return answer_runs(runs, console, answer_of,
                       [&](base::Json& all, ExitCode) { all.set("plans_made", plans.made()); });
  }

 private:
  base::Result<driver::SizedPlans::Plan> plan_at(const ir::SymbolValues& sizes,
                                                 const ModelSource& source, bool checked,
                                                 Console& console) const {
    ModelOptions bound = model_;
    bound.bind.clear();
    for (const auto& [name, size] : sizes) bound.bind.push_back(name + "=" + std::to_string(size));
    EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model,
                           read_concrete_model(source, bound, console));
    ir::Graph handed_over = model.graph;
    // Then names and types are all that is asked for later.
    if (!options_.check && options_.trace.empty()) (void)backends::take_constants(model.graph);
    // For one run it does not pay to measure what is faster; a trace shows what `bench` measures.
    BackendOptions backend = backend_;
    backend.checked_indices = checked;
    const bool may_need_slices = backend_.limit_arena > 0;
    if (options_.trace.empty() && !may_need_slices) backend.without.emplace_back("slices");
    EGRET_ASSIGN_OR_RETURN(
        auto plan, compile_plan(std::move(handed_over), backend, console, !options_.trace.empty()));
    return driver::SizedPlans::Plan{sizes, std::move(model.graph), std::move(plan)};
  }

  // All ranks run, one of them reports.
  base::Result<ExitCode> run_plan(Console& console) {
    if (!options_.trace.empty()) return base::usage_error("--trace cannot be combined with a plan");
    if (!at_.at.empty()) return base::usage_error("--at cannot be combined with a plan");
    EGRET_ASSIGN_OR_RETURN(runtime::Ranks ranks, join_ranks(backend_, plan_, console));
    auto plan = start_plan(path_, ranks, backend_, plan_, console);
    if (!plan.ok()) return rank_failed(ranks, plan.status(), console);
    const auto inputs = model_inputs(plan->model(), inputs_, backend_.seed);
    if (!inputs.ok()) return rank_failed(ranks, inputs.status(), console);
    const auto outputs = plan->run(*inputs);
    if (!outputs.ok()) return rank_failed(ranks, outputs.status(), console);
    plan->release();
    ranks.leave();
    if (!plan->reports()) return ExitCode::kOk;
    const auto same = [&](std::span<const ir::Tensor>) { return outputs; };
    EGRET_ASSIGN_OR_RETURN(const Answer answer,
                           report(plan->model(), *inputs, *outputs, same, "", console));
    console.result(answer.json, answer.text);
    return answer.code;
  }

  // `run` computes the outputs again, for the check. Names of files begin with `prefix`.
  base::Result<Answer> report(const ir::Graph& graph, const std::vector<ir::Tensor>& inputs,
                              const std::vector<ir::Tensor>& outputs,
                              const driver::OutputCheck::Run& run, const std::string& prefix,
                              Console& console) const {
    base::Json json = base::versioned_json();
    base::Json list = base::Json::array();
    std::string text;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = graph.outputs()[i].name;
      list.push(
          base::Json::object().set("name", name).set("type", ir::to_string(outputs[i].type())));
      text += name + "  " + ir::to_string(outputs[i], 8) + "\n";
      if (options_.output_folder.empty()) continue;
      const auto file = std::filesystem::path(options_.output_folder) /
                        (prefix + "output_" + std::to_string(i) + ".pb");
      EGRET_RETURN_IF_ERROR(
          write_output(console, file.string(), frontends::write_tensor_proto(outputs[i], name)));
    }
    json.set("outputs", std::move(list));
    if (!options_.check) return Answer{std::move(json), std::move(text)};
    EGRET_ASSIGN_OR_RETURN(
        const auto expected,
        driver::OutputCheck::of(graph, inputs, {.roundoff = roundoff(precision_of(backend_))}));
    EGRET_ASSIGN_OR_RETURN(const driver::CheckReport report, expected.check(run));
    add_check(json, report);
    text += driver::to_string(report) + "\n";
    return Answer{std::move(json), std::move(text), exit_code_of(report)};
  }

  // Of another run: the first one touches memory that was never used.
  base::Status write_trace(backends::ExecutablePlan& plan, const ir::Graph& graph,
                           std::span<const ir::Tensor> inputs, Console& console) const {
    EGRET_RETURN_IF_ERROR(plan.run(inputs).status());
    const backends::PlanReport report = plan.report();
    EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Work> works,
                           backends::work_of_kernels(graph, report));
    return write_output(console, options_.trace, chrome_trace(report, works).dump() + "\n");
  }

  std::string path_;
  RunOptions options_;
  ModelOptions model_;
  BackendOptions backend_;
  driver::AtOptions at_;
  InputOptions inputs_;
  PlanRunOptions plan_;
};

}  // namespace

Verb run_verb() {
  return {
      "run", "Run a model once",
      "Runs the model on the inputs of --input, or on random inputs, and prints the outputs. "
      "--check compares them with the f64 reference interpreter; the exit codes are those of "
      "`egret compare`. --trace runs the model a second "
      "time and writes time, arithmetic and memory traffic of each kernel.\n\nOpen sizes are those "
      "of the "
      "inputs, of --bind, or of --at. With several --at, or where an input is given again, the "
      "model runs once for each; runs at equal sizes share a plan.\n\nA plan of `egret plan` "
      "runs on as many ranks as its mesh has devices: mpirun -n 4 egret run plan.json. Without "
      "mpirun, one process interprets all ranks. If a rank fails or does not answer, all ranks "
      "end with exit code 8.",
      make_command<Run>};
}

}  // namespace egret::tools

// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>

#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/system/file.h"
#include "driver/plan_training.h"
#include "driver/proofs/plan_certificate.h"
#include "driver/proofs/rank_models.h"
#include "driver/report/cluster_plan_text.h"
#include "driver/report/pipeline_plan_text.h"
#include "driver/report/plan_page.h"
#include "driver/report/plan_tables.h"
#include "ir/autodiff/training_arguments.h"
#include "parallel/cluster_plan/cluster_plan_file.h"
#include "parallel/cluster_plan/cluster_planner.h"
#include "parallel/machine/named_cluster.h"
#include "parallel/pipeline_plan/pipeline_plan.h"
#include "parallel/pipeline_plan/pipeline_plan_file.h"
#include "parallel/placed/program_interface.h"
#include "parallel/plan/plan_file.h"
#include "tools/arguments/measured_machine.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/output_file.h"
#include "tools/arguments/plan_arguments.h"
#include "tools/arguments/report_option.h"
#include "tools/arguments/useless_flags.h"
#include "tools/frame/build_info.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct PlanArguments {
  std::string output;
  std::string mesh;
  std::string machine = "local";
  bool train = false;
  std::string certificate;
  std::string rank_models;

  static const base::OptionTable<PlanArguments>& table() {
    using P = PlanArguments;
    static const base::OptionTable<P> rows{
        "plan-machine",
        {{"output", &P::output, "File for the result; - is standard output", base::output_file(),
          'o'},
         {"mesh", &P::mesh, parallel::kMeshHelp},
         {"machine", &P::machine,
          "Machine: a TOML file, a preset such as local, dgx-h100, gh200 or tpu-v4, or measured "
          "for "
          "what `egret costs profile --collectives` found here",
          base::path()},
         {"train", &P::train,
          "Plan one training step of the model, as `egret grad` builds it; implies "
          "--sharded-inputs"},
         {"certificate", &P::certificate,
          "File for a proof, step by step, that the result equals MODEL in real arithmetic; "
          "egret-check, or "
          "for plans egret-check-plan, replays it (docs/trust.md)",
          base::output_file()},
         {"rank-models", &P::rank_models,
          "Also write the part of each rank as an ONNX model into this folder, as rankN.onnx; "
          "those of further ranks that are there are removed",
          base::output_folder()}}};
    return rows;
  }
};

// What the plan gains over one device, in a line.
std::string answer_of(const parallel::ParallelPlan& plan, const parallel::Cluster& machine) {
  std::string text = base::format_seconds(plan.time_s) + " on " + to_string(machine.mesh) + " of " +
                     machine.name + ", " + base::format_bytes(plan.memory_bytes) + " a device";
  if (plan.overlaps)
    text += " (" + base::format_seconds(plan.sequential_s) + " if nothing overlapped)";
  const auto single = plan.baselines.find("single");
  if (single != plan.baselines.end() && plan.time_s > 0) {
    text += "; " + base::format_short(single->second / plan.time_s) +
            " times as fast as one device (" + base::format_seconds(single->second) + ")";
  }
  text += "\n";
  if (plan.recomputation) text += driver::recomputation_text(*plan.recomputation) + "\n";
  return text + "\n";
}

// What follows the answer.
std::string to_text(const parallel::ParallelPlan& plan) {
  const auto followed_by_line = [](const base::TextTable& table) {
    return table.empty() ? "" : table.render() + "\n";
  };
  const auto after_line = [](const base::TextTable& table) {
    return table.empty() ? "" : "\n" + table.render();
  };
  return driver::plan_times_table(plan).render() + "\n" +
         followed_by_line(driver::plan_searches_table(plan)) +
         driver::placements_table(plan.program).render() +
         after_line(driver::runners_up_table(plan)) + after_line(driver::communication_table(plan));
}

class PlanVerb final : public Command {
 public:
  void declare(Arguments& arguments) override {
    given_ = &arguments.set();
    arguments.optional("MODEL", path_,
                       "An ONNX file, or - for standard input; without one, a transformer is "
                       "planned for --devices");
    arguments.options(arguments_);
    arguments.options(report_);
    arguments.options(options_);
    arguments.options(training_);
    arguments.options(pipeline_);
    arguments.options(model_);
    arguments.options(cluster_);
    arguments.options(setup_);
    arguments.options(step_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (path_.empty()) return plan_transformer(console);
    if (cluster_.devices > 0)
      return base::usage_error("--devices plans a transformer, and cannot be combined with MODEL");
    EGRET_RETURN_IF_ERROR(check_flags_of_model());
    EGRET_RETURN_IF_ERROR(
        check_not_input(arguments_.output,
                        {{"the model", path_}, {"the file of the machine", arguments_.machine}}));
    EGRET_RETURN_IF_ERROR(check_report(report_, {{"the model", path_},
                                                 {"the file of the machine", arguments_.machine},
                                                 {"the plan", arguments_.output}}));
    EGRET_RETURN_IF_ERROR(check_certificate());
    EGRET_RETURN_IF_ERROR(check_flags_of_pipeline());
    EGRET_ASSIGN_OR_RETURN(const parallel::Cluster machine,
                           cluster_argument(arguments_.machine, arguments_.mesh));
    EGRET_ASSIGN_OR_RETURN(const frontends::ImportedModel model,
                           read_concrete_model(path_, model_, console));
    if (pipeline_.pipeline) return plan_pipeline(model.graph, machine, console);
    driver::simulate_overlap(options_, machine);
    parallel::PlanOrigin origin{.model = model_path_in_plan(path_, arguments_.output),
                                .bind = model_.bind,
                                .machine = machine.name};
    origin.model_hash = parallel::model_hash(model.graph);
    // The answer comes first: the check of a large plan takes longer than the search.
    const auto answer = [&](const parallel::ParallelPlan& found) {
      if (console.options().json || arguments_.output == "-") return;
      console.data(answer_of(found, machine));
      std::fflush(stdout);
    };
    EGRET_ASSIGN_OR_RETURN(const parallel::ParallelPlan plan,
                           arguments_.train
                               ? driver::plan_training(model.graph, training_, machine, options_,
                                                       path_, console.progress(), answer)
                               : parallel::make_plan(parallel::PlanTask{model.graph}, machine,
                                                     options_, console.progress(), answer));
    warn_of_check(plan, console);
    if (!arguments_.rank_models.empty())
      EGRET_RETURN_IF_ERROR(driver::check_rank_models(plan.program).at("--rank-models"));
    if (arguments_.train) origin.training = ir::to_json(training_);
    const base::Json json = to_json(plan, origin);
    std::string certificate;
    if (!arguments_.certificate.empty()) {
      EGRET_ASSIGN_OR_RETURN(certificate, driver::plan_certificate(model.graph, json, options_));
    }
    if (!arguments_.output.empty() && !keeps_earlier_file(console, arguments_.output))
      EGRET_RETURN_IF_ERROR(write_output(console, arguments_.output, json.dump(1) + "\n"));
    if (!certificate.empty())
      EGRET_RETURN_IF_ERROR(base::write_file(arguments_.certificate, certificate));
    EGRET_RETURN_IF_ERROR(write_rank_models(plan.program, model.info));
    const auto page = [&] {
      return driver::plan_page(plan, origin, machine, std::string(build_info().version));
    };
    EGRET_RETURN_IF_ERROR(arguments_.output == "-"
                              ? write_report(console, report_, page)
                              : result_and_report(console, json, to_text(plan), report_, page));
    if (arguments_.output.empty() && !console.options().json)
      console.note("the plan is not written; write it with -o FILE");
    if (plan.limit_bytes > 0 && plan.memory_bytes > plan.limit_bytes) {
      console.warning("the plan needs " + base::format_bytes(plan.memory_bytes) +
                      " on each device; no plan was found within the limit of " +
                      base::format_bytes(plan.limit_bytes));
      return ExitCode::kLimit;
    }
    return ExitCode::kOk;
  }

 private:
  base::Status check_flags_of_model() {
    base::OptionSet of_transformers;
    of_transformers.add(cluster_);
    of_transformers.add(setup_);
    of_transformers.add(step_);
    return refuse_flags(*given_, of_transformers,
                        "is for a transformer (--devices), and cannot be combined with MODEL");
  }

  base::Status check_flags_of_transformer() {
    base::OptionSet of_models;
    of_models.add(arguments_);
    of_models.add(report_);
    of_models.add(options_);
    of_models.add(training_);
    of_models.add(pipeline_);
    of_models.add(model_);
    return refuse_flags(*given_, of_models, "needs MODEL", {"output", "machine", "explain"});
  }

  base::Status check_certificate() const {
    if (arguments_.certificate.empty()) return base::ok();
    if (arguments_.certificate == "-") return base::usage_error("--certificate needs a file");
    if (arguments_.output.empty())
      return base::usage_error("--certificate is about the plan's file: it needs --output");
    return check_not_input(arguments_.certificate, {{"the model", path_},
                                                    {"the file of the machine", arguments_.machine},
                                                    {"the plan", arguments_.output}});
  }

  void warn_of_check(const parallel::ParallelPlan& plan, Console& console) const {
    const auto unchecked = [&](const std::string& why) {
      console.warning("the plan was not compared with the model in full: " + why +
                      "; `egret verify-plan` proves plans of any size");
    };
    if (plan.interrupted) console.warning("interrupted; this is the best plan so far");
    if (plan.check == parallel::PlanCheck::kInterrupted) unchecked("interrupted");
    if (plan.check == parallel::PlanCheck::kOutOfTime)
      unchecked("--limit-check " + base::format_seconds(options_.limit_check) + " was reached");
  }

  base::Status write_rank_models(const parallel::PlacedGraph& placed,
                                 const frontends::OnnxModelInfo& info) const {
    if (arguments_.rank_models.empty()) return base::ok();
    for (std::int64_t rank = 0; rank < placed.mesh.ranks(); ++rank) {
      EGRET_ASSIGN_OR_RETURN(frontends::ExportedModel model,
                             driver::rank_model(placed, rank, info));
      const auto file =
          std::filesystem::path(arguments_.rank_models) / ("rank" + std::to_string(rank) + ".onnx");
      EGRET_RETURN_IF_ERROR(model.write(file.string()));
    }
    return driver::remove_other_ranks(arguments_.rank_models, placed.mesh.ranks());
  }

  // A pipeline has its own search, and is run by `egret train-step --config`.
  base::Status check_flags_of_pipeline() {
    base::OptionSet of_pipelines;
    of_pipelines.add(pipeline_);
    if (!pipeline_.pipeline) return refuse_flags(*given_, of_pipelines, "needs --pipeline");
    if (!arguments_.train)
      return base::usage_error("--pipeline plans a training step: it needs --train");
    base::OptionSet of_placements;
    of_placements.add(arguments_);
    of_placements.add(report_);
    of_placements.add(options_);
    return refuse_flags(*given_, of_placements, "cannot be combined with --pipeline",
                        {"output", "mesh", "machine", "train", "device-memory"});
  }

  base::Result<ExitCode> plan_pipeline(const ir::Graph& model, const parallel::Cluster& machine,
                                       Console& console) {
    const double memory = machine.memory_limit(options_.device_memory);
    const ir::TrainingOptions training = training_.options();
    auto plan =
        parallel::plan_pipeline({model, training, memory}, machine, pipeline_, console.progress());
    if (!plan.ok()) return plan.status().at(path_);
    if (!arguments_.output.empty() && !keeps_earlier_file(console, arguments_.output)) {
      EGRET_RETURN_IF_ERROR(write_output(console, arguments_.output,
                                         to_toml(*plan, training_, path_, arguments_.machine)));
    }
    if (arguments_.output != "-") {
      console.result(to_json(*plan, machine.name),
                     driver::pipeline_plan_text(*plan, machine, memory));
    }
    if (plan->interrupted) console.warning("interrupted; this is the best plan so far");
    if (!plan->best.fits(memory)) {
      console.warning("no pipeline was found within the memory of the devices, " +
                      base::format_bytes(memory));
      return ExitCode::kLimit;
    }
    return plan->interrupted ? ExitCode::kLimit : ExitCode::kOk;
  }

  base::Result<ExitCode> plan_transformer(Console& console) {
    if (cluster_.devices == 0) {
      return base::usage_error(
          "MODEL is missing, or --devices to plan a transformer (`egret plan --help`)");
    }
    EGRET_RETURN_IF_ERROR(check_flags_of_transformer());
    EGRET_RETURN_IF_ERROR(
        check_not_input(arguments_.output, {{"the file of the machine", arguments_.machine}}));
    EGRET_ASSIGN_OR_RETURN(const parallel::System system,
                           parallel::system_called(arguments_.machine));
    // What a flag, a variable or a file gives is kept; the plan chooses the rest.
    const parallel::FixedChoices fixed = parallel::fixed_choices(
        setup_, step_, [&](std::string_view option) { return console.is_given(option); });
    EGRET_ASSIGN_OR_RETURN(const parallel::ClusterPlan plan,
                           parallel::plan_cluster({system, setup_, step_, fixed}, cluster_,
                                                  options_.explain, console.progress()));
    if (!arguments_.output.empty() && !keeps_earlier_file(console, arguments_.output)) {
      EGRET_RETURN_IF_ERROR(
          write_output(console, arguments_.output, to_toml(plan, arguments_.machine)));
    }
    if (arguments_.output != "-") {
      console.result(to_json(plan, arguments_.machine),
                     driver::cluster_plan_text(plan, system, cluster_.devices));
    }
    if (!plan.best.fits()) {
      console.warning("no plan was found within the memory of the devices");
      return ExitCode::kLimit;
    }
    const bool limited =
        (plan.stop_reason == "time" && console.is_given("limit-plan-time")) ||
        (plan.stop_reason == "simulations" && console.is_given("limit-simulations"));
    return limited ? ExitCode::kLimit : ExitCode::kOk;
  }

  const base::OptionSet* given_ = nullptr;
  std::string path_;
  PlanArguments arguments_;
  ReportOptions report_;
  parallel::ParallelPlanOptions options_;
  ir::TrainingArguments training_;
  parallel::PipelinePlanOptions pipeline_;
  ModelOptions model_;
  parallel::ClusterPlanOptions cluster_;
  parallel::TrainingSetup setup_;
  parallel::StepOptions step_;
};

}  // namespace

Verb plan_verb() {
  return {"plan", "Distribute a model, or a transformer's training, over devices",
          "Chooses a placement of each tensor on the devices of a mesh, and the collectives "
          "between them, for the least predicted time. The plan is interpreted on all ranks and "
          "compared with the model before it is written, for at most --limit-check. SIGTERM ends "
          "the search with the best plan so far.\n\nWith --train, the program is one "
          "training step. Parameters and optimizer state are placed too, and `egret train-step` "
          "runs the plan.\n\nThe exit code is 5 if no plan within --device-memory was found.",
          make_command<PlanVerb>};
}

}  // namespace egret::tools

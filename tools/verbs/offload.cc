// SPDX-License-Identifier: Apache-2.0
#include "driver/report/offload_plan_text.h"
#include "parallel/offload/expert_planner.h"
#include "parallel/offload/offload_plan_file.h"
#include "parallel/offload/offload_planner.h"
#include "tools/arguments/output_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct OffloadArguments {
  std::string output;
  std::string machine = "t4-flexgen";
  std::string trace;
  bool explain = false;

  static const base::OptionTable<OffloadArguments>& table() {
    using O = OffloadArguments;
    static const base::OptionTable<O> rows{
        "offload-machine",
        {{"output", &O::output, "File for the result; - is standard output", base::output_file(),
          'o'},
         {"machine", &O::machine,
          "Machine: a TOML file, a preset such as local, dgx-h100, gh200 or tpu-v4, or measured "
          "for "
          "what `egret costs profile --collectives` found here",
          base::path()},
         {"trace", &O::trace, "Write a trace to this file, for chrome://tracing or Perfetto",
          base::output_file()},
         {"explain", &O::explain,
          "For the largest inputs and weights, print the time of the best plan with another "
          "placement"}}};
    return rows;
  }
};

class OffloadVerb final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.options(arguments_);
    arguments.options(setup_);
    arguments.options(options_);
  }

  base::Result<ExitCode> run(Console& console) override {
    for (const std::string& file : {arguments_.output, arguments_.trace}) {
      EGRET_RETURN_IF_ERROR(
          check_not_input(file, {{"the file of the machine", arguments_.machine},
                                 {"the file of popularity", setup_.expert_popularity}}));
    }
    EGRET_ASSIGN_OR_RETURN(const parallel::HostedSystem system,
                           parallel::hosted_system_called(arguments_.machine));
    if (setup_.experts > 0) return plan_experts(system, console);
    EGRET_ASSIGN_OR_RETURN(
        const parallel::OffloadPlan plan,
        parallel::plan_offload(system, setup_, options_, arguments_.explain, console.progress()));
    if (!arguments_.output.empty()) {
      EGRET_RETURN_IF_ERROR(
          write_output(console, arguments_.output, to_toml(plan, arguments_.machine)));
    }
    if (!arguments_.trace.empty()) {
      EGRET_ASSIGN_OR_RETURN(
          const parallel::GenerationTrace trace,
          parallel::simulate_generation(system, setup_, plan.best.choice, plan.best.placement));
      EGRET_RETURN_IF_ERROR(write_output(console, arguments_.trace, parallel::chrome_trace(trace)));
    }
    if (arguments_.output != "-" && arguments_.trace != "-") {
      console.result(to_json(plan, arguments_.machine), driver::offload_plan_text(plan, system));
    }
    const bool limited = plan.stop_reason == "signal" || (plan.stop_reason == "simulations" &&
                                                          console.is_given("limit-simulations"));
    return limited ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
  base::Result<ExitCode> plan_experts(const parallel::HostedSystem& system, Console& console) {
    if (!arguments_.trace.empty() || arguments_.explain) {
      return base::usage_error(
          "--trace and --explain are for dense layers, and cannot be combined with --experts");
    }
    EGRET_ASSIGN_OR_RETURN(const parallel::ExpertPlan plan, parallel::plan_experts(system, setup_));
    const base::Json json = to_json(plan, arguments_.machine);
    // A setup alone does not name the experts of each layer, so the file is JSON.
    if (!arguments_.output.empty())
      EGRET_RETURN_IF_ERROR(write_output(console, arguments_.output, json.dump(1) + "\n"));
    if (arguments_.output != "-") console.result(json, driver::expert_plan_text(plan, system));
    return ExitCode::kOk;
  }

  OffloadArguments arguments_;
  parallel::GenerationSetup setup_;
  parallel::OffloadOptions options_;
};

}  // namespace

Verb offload_verb() {
  return {"offload", "Plan text generation beyond the accelerator's memory",
          "Places the weights, the caches of keys and values, and the activations of a "
          "transformer on one accelerator, in the memory of its host and on its disk, and chooses "
          "the batches that pass a layer together, for the most generated tokens a second. "
          "Fractions come from a linear program for each block of batches. They are rounded to "
          "whole tensors and sequences, and the best ones are simulated. Policies of other systems "
          "are in the pool.\n\nWith --experts, the experts of each layer live on the "
          "accelerator or on the host. For each missing one, its weights are copied or the cores "
          "compute it.\n\nThe machine file needs [host]. The exit code is 5 if nothing fits "
          "into memory.",
          make_command<OffloadVerb>};
}

}  // namespace egret::tools

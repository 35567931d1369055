// SPDX-License-Identifier: Apache-2.0
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "parallel/plan/plan_file.h"
#include "parallel/simulator/chrome_trace.h"
#include "parallel/simulator/plan_simulation.h"
#include "parallel/simulator/step_json.h"
#include "parallel/transformer/experts.h"
#include "runtime/loaded_plan.h"
#include "tools/arguments/layer_graphs.h"
#include "tools/arguments/measured_machine.h"
#include "tools/arguments/output_file.h"
#include "tools/arguments/plan_arguments.h"
#include "tools/arguments/useless_flags.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

constexpr std::int64_t kMostPlanBytes = std::int64_t{1} << 30;

struct SimulateArguments {
  std::string system = "dgx-a100";
  std::string trace;
  bool from_graphs = false;

  static const base::OptionTable<SimulateArguments>& table() {
    using S = SimulateArguments;
    static const base::OptionTable<S> rows{
        "simulate-system",
        {{"system", &S::system,
          "Devices and links: a TOML file, or a preset such as dgx-a100 (parallel/data/systems)",
          base::path()},
         {"trace", &S::trace, "Write a trace to this file, for chrome://tracing or Perfetto",
          base::output_file()},
         {"from-graphs", &S::from_graphs,
          "Take kernels from graphs of the forward pass and its gradients, instead of lists"}}};
    return rows;
  }
};

std::string title_of(const parallel::StepDevice& device, bool each_replica) {
  return (each_replica ? "replica " + std::to_string(device.replica) + ", " : std::string()) +
         "rank " + std::to_string(device.rank);
}

std::string to_text(const parallel::StepReport& report, const parallel::StepSimulation& simulation,
                    const parallel::System& system, const parallel::TrainingSetup& setup,
                    bool each_replica) {
  std::string text = base::format_seconds(report.seconds) + " a step of " +
                     base::format_short(setup.model_parameters() / 1e9) +
                     " billion parameters on " + base::counted(setup.devices(), "device") + " of " +
                     system.name + ", MFU " + base::format_percent(report.mfu) + "\n";
  if (setup.experts > 0) {
    const parallel::ExpertLoads loads = parallel::expert_loads(setup);
    text += base::format_short(setup.active_parameters() / 1e9) +
            " billion of them active for a token; the fullest expert rank is chosen " +
            base::format_short(loads.fullest()) + " times as often as the mean, " +
            base::format_percent(loads.dropped) + " of the choices are dropped\n";
  }
  if (const parallel::Distribution& random = report.distribution; random.trials > 0) {
    text += "over " + base::counted(random.trials, "random step") + ": mean " +
            base::format_seconds(random.mean) + ", p95 " + base::format_seconds(random.p95) +
            ", most " + base::format_seconds(random.most) + "\n";
  }
  base::TextTable uses({{"time"}, {"seconds", base::Align::kRight}, {"part", base::Align::kRight}});
  for (std::size_t use = 0; use < report.seconds_by_use.size(); ++use) {
    const double seconds = report.seconds_by_use[use];
    uses.row({std::string(parallel::kTimeUseNames[use]), base::format_seconds(seconds),
              base::format_percent(seconds / report.seconds)});
  }
  std::vector<base::TextTable::Column> columns = {{"memory at the peak"}};
  for (const std::string_view kind : parallel::kMemoryKindNames)
    columns.push_back({std::string(kind), base::Align::kRight});
  columns.push_back({"total", base::Align::kRight});
  columns.push_back({"idle", base::Align::kRight});
  base::TextTable devices(std::move(columns));
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const parallel::DeviceReport& device = report.devices[i];
    std::vector<std::string> row = {title_of(simulation.program().devices[i], each_replica)};
    for (const double bytes : device.peak_bytes) row.push_back(base::format_bytes(bytes));
    row.push_back(base::format_bytes(device.peak_total_bytes));
    const double idle = device.seconds[static_cast<std::size_t>(parallel::TimeUse::kBubble)];
    row.push_back(base::format_percent(idle / report.seconds));
    devices.row(std::move(row));
  }
  const auto host = std::ranges::max(report.devices, {}, &parallel::DeviceReport::host_peak_bytes);
  text += "\n" + uses.render() + "\n" + devices.render();
  if (host.host_peak_bytes > 0) {
    text += "\nmemory of the host: " + base::format_bytes(host.host_peak_bytes) +
            " for the device that needs most of it\n";
  }
  return text;
}

class SimulateVerb final : public Command {
 public:
  void declare(Arguments& arguments) override {
    given_ = &arguments.set();
    arguments.optional("PLAN", plan_, "A plan of egret plan (*.json), instead of a transformer");
    arguments.options(arguments_);
    arguments.options(setup_);
    arguments.options(options_);
    arguments.options(cluster_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_RETURN_IF_ERROR(check_not_input(arguments_.trace, {{"the plan", plan_},
                                                             {"the system", arguments_.system},
                                                             {"the machine", cluster_.machine}}));
    return plan_.empty() ? run_step(console) : run_plan(console);
  }

 private:
  struct ClusterArguments {
    std::string machine;

    static const base::OptionTable<ClusterArguments>& table() {
      using C = ClusterArguments;
      static const base::OptionTable<C> rows{
          "simulate-plan",
          {{"plan-machine", &C::machine,
            "Machine of the plan: a TOML file or a preset (default: the one it was made for)",
            base::path()}}};
      return rows;
    }
  };

  base::Result<ExitCode> run_step(Console& console) {
    if (!cluster_.machine.empty())
      return base::usage_error("--plan-machine needs a plan; --system names that of a transformer");
    EGRET_ASSIGN_OR_RETURN(const parallel::System system,
                           parallel::system_called(arguments_.system));
    if (arguments_.from_graphs) {
      EGRET_RETURN_IF_ERROR(setup_.check());
      EGRET_ASSIGN_OR_RETURN(setup_.layer_kernels, layer_kernels_of(setup_));
    }
    EGRET_ASSIGN_OR_RETURN(parallel::StepSimulation simulation,
                           parallel::StepSimulation::make(system, setup_, options_));
    parallel::StepReport report = simulation.report();
    if (options_.samples()) {
      EGRET_ASSIGN_OR_RETURN(report.distribution, simulation.sample(console.progress()));
    }
    if (!arguments_.trace.empty()) {
      EGRET_RETURN_IF_ERROR(
          write_output(console, arguments_.trace, parallel::chrome_trace(simulation, report)));
    }
    if (arguments_.trace != "-") {
      console.result(to_json(simulation, report),
                     to_text(report, simulation, system, setup_, options_.each_replica));
    }
    double host = 0;
    for (const parallel::DeviceReport& device : report.devices)
      host = std::max(host, device.host_peak_bytes);
    if (options_.host_memory > 0 && host > options_.host_memory) {
      console.warning("a device needs " + base::format_bytes(host) +
                      " of its host's memory and has " + base::format_bytes(options_.host_memory));
    }
    warn_of_memory(system, simulation, report, console);
    return ExitCode::kOk;
  }

  // Of the rank that exceeds its devices most.
  void warn_of_memory(const parallel::System& system, const parallel::StepSimulation& simulation,
                      const parallel::StepReport& report, Console& console) const {
    const std::vector<parallel::StageDegrees> stages = setup_.stages();
    double needed = 0, limit = 0;
    for (std::size_t i = 0; i < report.devices.size(); ++i) {
      const auto rank = static_cast<std::size_t>(simulation.program().devices[i].rank);
      const double has = system.usable_bytes(stages[rank].first_device, stages[rank].devices());
      const double needs = report.devices[i].peak_total_bytes;
      if (needs - has <= needed - limit) continue;
      needed = needs;
      limit = has;
    }
    if (needed > limit) {
      console.warning("a device needs " + base::format_bytes(needed) + " of memory and has " +
                      base::format_bytes(limit));
    }
  }

  base::Status check_flags_of_plan() {
    if (given_->find("system")->origin == base::OptionOrigin::kFlag) {
      return base::usage_error(
          "--system is for a transformer, and cannot be combined with PLAN; --plan-machine names "
          "the machine of a plan");
    }
    base::OptionSet of_transformers;
    of_transformers.add(arguments_);
    of_transformers.add(setup_);
    of_transformers.add(options_);
    return refuse_flags(*given_, of_transformers,
                        "is for a transformer, and cannot be combined with PLAN", {"trace"});
  }

  base::Result<ExitCode> run_plan(Console& console) {
    EGRET_RETURN_IF_ERROR(check_flags_of_plan());
    EGRET_ASSIGN_OR_RETURN(const std::string text, read_input(plan_, kMostPlanBytes));
    const auto json = base::Json::parse(text);
    if (!json.ok()) return json.status().at(plan_);
    const auto origin = parallel::read_origin(*json);
    if (!origin.ok()) return origin.status().at(plan_);
    EGRET_ASSIGN_OR_RETURN(const runtime::LoadedPlan loaded, runtime::load_plan(plan_));
    const std::string name = cluster_.machine.empty() ? origin->machine : cluster_.machine;
    EGRET_ASSIGN_OR_RETURN(const parallel::Cluster machine,
                           cluster_argument(name, to_string(loaded.placed.mesh)));
    const auto simulated = parallel::simulate_plan(loaded.placed, machine);
    if (!simulated.ok()) return simulated.status().at(plan_);
    if (!arguments_.trace.empty()) {
      EGRET_RETURN_IF_ERROR(
          write_output(console, arguments_.trace, parallel::chrome_trace(*simulated)));
    }
    if (arguments_.trace == "-") return ExitCode::kOk;
    const double peak = parallel::peak_bytes(loaded.placed);
    base::Json result = base::versioned_json();
    result.set("machine", machine.name)
        .set("mesh", to_string(machine.mesh))
        .set("seconds", simulated->seconds())
        .set("sequential_seconds", simulated->sequential_s())
        .set("overlap", machine.overlaps)
        .set("compute_seconds", simulated->compute_s)
        .set("communication_seconds", simulated->communication_s)
        .set("exposed_seconds", simulated->exposed_s)
        .set("peak_bytes", peak)
        .set("events", simulated->simulator.timeline().events);
    console.result(
        result, base::format_seconds(simulated->seconds()) + " on " + to_string(machine.mesh) +
                    " of " + machine.name + "; " + base::format_seconds(simulated->sequential_s()) +
                    " if nothing overlaps" + (machine.overlaps ? "" : ", as on this machine") +
                    "\ncomputation " + base::format_seconds(simulated->compute_s) +
                    ", communication " + base::format_seconds(simulated->communication_s) +
                    ", of which exposed " + base::format_seconds(simulated->exposed_s) +
                    "\npeak memory " + base::format_bytes(peak) + " a device\n");
    return ExitCode::kOk;
  }

  const base::OptionSet* given_ = nullptr;
  std::string plan_;
  SimulateArguments arguments_;
  parallel::TrainingSetup setup_;
  parallel::StepOptions options_;
  ClusterArguments cluster_;
};

}  // namespace

Verb simulate_verb() {
  return {
      "simulate", "Simulate a step of a transformer, or a plan, on a cluster",
      "Simulates one training step of a decoder-only transformer, described as for Megatron-LM, "
      "on a system of devices and links. The report has the time of the step, its parts, the "
      "model FLOPs utilization and the peak memory of each pipeline rank.\n\nEvents are the "
      "starts and ends of passes, transfers and exchanges on the streams of each device; flows "
      "share links by max-min fairness. One device stands for all that do the same. A file "
      "given by --config can hold the whole description.\n\nWith a plan of `egret plan`, its "
      "program is simulated with collectives beside computation.",
      make_command<SimulateVerb>};
}

}  // namespace egret::tools

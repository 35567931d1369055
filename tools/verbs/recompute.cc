// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>

#include "backends/named_backend.h"
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/models/training_inputs.h"
#include "driver/recompute/recomputed_plan.h"
#include "extract/recompute/coarsen.h"
#include "ir/autodiff/training_arguments.h"
#include "tools/arguments/backend_arguments.h"
#include "tools/arguments/input_files.h"
#include "tools/arguments/model_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

std::vector<std::string> all_methods() {
  std::vector<std::string> names;
  for (const extract::RecomputeMethod& method : extract::recompute_methods())
    names.emplace_back(method.name);
  return names;
}

struct RecomputeOptions {
  std::vector<std::string> shares;
  std::vector<std::string> methods;
  std::int64_t tasks = 0;
  double seconds = 10;
  std::string prices = "measured";

  static const base::OptionTable<RecomputeOptions>& table() {
    using R = RecomputeOptions;
    static const base::OptionTable<R> rows{
        "recompute",
        {{"recompute-shares", &R::shares,
          "Limits of memory, in percent of the memory that keeps all values; default: "
          "90,80,...,30"},
         {"recompute-methods", &R::methods,
          "Method to compare; may be repeated. Default: search, segments, dtr",
          base::one_of(all_methods())},
         {"recompute-tasks", &R::tasks,
          "Join kernels to about this many tasks, for methods that need few; 0: one task a kernel",
          base::range(0, 1e6)},
         {"recompute-time", &R::seconds, driver::kRecomputeTimeHelp, base::seconds()},
         {"recompute-prices", &R::prices, driver::kRecomputePricesHelp,
          base::one_of({"measured", "roofline"})}}};
    return rows;
  }
};

base::Result<double> share_of(const std::string& text) {
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size() || !(percent > 0 && percent <= 100))
    return base::usage_error("--recompute-shares takes percentages up to 100, not '" + text + "'");
  return percent / 100;
}

class Recompute final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file, or - for standard input");
    arguments.options(options_);
    arguments.options(offload_);
    arguments.options(training_);
    arguments.options(model_);
    arguments.options(backend_);
    arguments.options(inputs_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (options_.shares.empty()) options_.shares = {"90", "80", "70", "60", "50", "40", "30"};
    if (options_.methods.empty()) options_.methods = {"search", "segments", "dtr"};
    std::vector<double> shares;
    for (const std::string& text : options_.shares) {
      EGRET_ASSIGN_OR_RETURN(const double share, share_of(text));
      shares.push_back(share);
    }
    EGRET_ASSIGN_OR_RETURN(const extract::RecomputeProblem problem, problem_of(console));
    extract::RecomputeProblem with_copies = problem;
    EGRET_RETURN_IF_ERROR(driver::price_copies(offload_, with_copies));
    EGRET_ASSIGN_OR_RETURN(
        const extract::RecomputeAnswer all,
        extract::recompute(problem, std::numeric_limits<std::int64_t>::max(), {"keep-all"}));
    base::Json json = base::versioned_json();
    json.set("tasks", std::uint64_t{problem.size()}).set("keep_all_bytes", all.keep_all);
    json.set("least_bytes", extract::least_memory(problem)).set("least_s", problem.least_cost());
    base::Json rows = base::Json::array();
    base::TextTable table({{"memory", base::Align::kRight},
                           {"limit", base::Align::kRight},
                           {"method"},
                           {"overhead", base::Align::kRight},
                           {"at least", base::Align::kRight},
                           {"computed again", base::Align::kRight},
                           {"copied back", base::Align::kRight},
                           {"outcome"},
                           {"time", base::Align::kRight}});
    for (const double share : shares) {
      const auto limit = static_cast<std::int64_t>(share * static_cast<double>(all.keep_all));
      for (const std::string& method : options_.methods) {
        for (const bool copies : {false, true}) {
          // The others know no copies.
          if (base::stop_requested() || (copies && (!offload_.asked() || method != "search")))
            continue;
          const base::Stopwatch watch;
          EGRET_ASSIGN_OR_RETURN(const extract::RecomputeAnswer answer,
                                 extract::recompute(copies ? with_copies : problem, limit,
                                                    {.method = method,
                                                     .seconds = options_.seconds,
                                                     .should_stop = base::stop_requested}));
          add(rows, table, problem, share, limit, method + (copies ? " with copies" : ""), answer,
              watch.seconds());
        }
      }
    }
    json.set("rows", std::move(rows));
    console.result(json, table.render() + "\n" +
                             base::counted(static_cast<std::int64_t>(problem.size()), "task") +
                             " take " + base::format_seconds(problem.least_cost()) + " and " +
                             base::format_bytes(static_cast<double>(all.keep_all)) +
                             " where all values are kept\n");
    return base::stop_requested() ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
  base::Result<extract::RecomputeProblem> problem_of(Console& console) const {
    EGRET_ASSIGN_OR_RETURN(const frontends::ImportedModel model,
                           read_concrete_model(path_, model_, console));
    EGRET_ASSIGN_OR_RETURN(const ir::TrainingGraph step,
                           ir::training_step(model.graph, training_, path_));
    EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> inputs,
                           driver::first_inputs(step, inputs_, backend_.seed));
    EGRET_ASSIGN_OR_RETURN(const backends::Backend* backend,
                           backends::backend_called(backend_.backend));
    EGRET_RETURN_IF_ERROR(backend->availability());
    EGRET_ASSIGN_OR_RETURN(
        driver::KernelTasks tasks,
        driver::priced_tasks(*backend, step.graph,
                             driver::compile_options(backend_, console.options().threads),
                             options_.prices, inputs));
    if (options_.tasks == 0) return std::move(tasks.problem);
    return extract::coarsened(tasks.problem, static_cast<std::size_t>(options_.tasks)).problem;
  }

  static void add(base::Json& rows, base::TextTable& table,
                  const extract::RecomputeProblem& problem, double share, std::int64_t limit,
                  const std::string& method, const extract::RecomputeAnswer& answer,
                  double seconds) {
    const double least = problem.least_cost();
    base::Json row = base::Json::object();
    row.set("share", share).set("limit_bytes", limit).set("method", method);
    row.set("found", answer.schedule.has_value()).set("impossible", answer.impossible);
    row.set("outcome", std::string(extract::outcome_of(answer)));
    row.set("bound_s", answer.bound).set("proven_bound_s", answer.proven_bound);
    if (answer.stage_bound > 0) row.set("stage_bound_s", answer.stage_bound);
    row.set("proven", answer.proven).set("seconds", seconds);
    std::string overhead = "none", again, back;
    if (answer.schedule) {
      overhead = base::format_percent(answer.schedule->cost / least - 1);
      again = std::to_string(answer.schedule->recomputations(problem));
      row.set("cost_s", answer.schedule->cost).set("peak_bytes", answer.schedule->peak);
      const std::size_t copies = answer.schedule->copies();
      row.set("computations", std::uint64_t{answer.schedule->steps.size() - copies});
      row.set("copies_back", std::uint64_t{copies});
      back = copies == 0 ? "" : std::to_string(copies);
    }
    rows.push(std::move(row));
    // Other methods look for no bound of all schedules.
    const std::string at_least = method.starts_with("search")
                                     ? base::format_percent(std::max(0.0, answer.bound / least - 1))
                                     : "";
    table.row({base::format_percent(share), base::format_bytes(static_cast<double>(limit)), method,
               overhead, at_least, again, back, std::string(extract::outcome_of(answer)),
               base::format_seconds(seconds)});
  }

  std::string path_;
  RecomputeOptions options_;
  driver::OffloadArguments offload_;
  ir::TrainingArguments training_;
  ModelOptions model_;
  BackendOptions backend_;
  InputOptions inputs_;
};

}  // namespace

Verb recompute_verb() {
  return {
      "recompute", "Price training steps within less memory",
      "A training step keeps the values of the forward pass for the backward pass. Within less "
      "memory, values are freed and computed again. This verb prices that for several limits "
      "and methods, and runs nothing but the kernels that it measures. `egret train-step "
      "--limit-arena` runs such a step.\n\nMemory is that of activations: inputs, parameters "
      "and results lie outside of it. 100 % is the peak of the order of kernels with little "
      "memory in which each is computed once. The column 'at least' is the search's lower bound "
      "for "
      "all schedules whose first computations come in that order. Schedules count what a kernel "
      "reads and what it writes; plans may need less, where kernels write over what they read. "
      "With --offload-to or --offload-rate, the search is also run where values may be copied to a "
      "file and back instead; copies are priced one after the other with kernels. "
      "Checkmate's methods prove the optimum of schedules in stages only. Measured prices run "
      "the step with all values kept.",
      make_command<Recompute>};
}

}  // namespace egret::tools

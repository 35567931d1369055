// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "backends/named_backend.h"
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/median.h"
#include "base/stop.h"
#include "base/system/thread_pool.h"
#include "base/timer.h"
#include "driver/models/training_inputs.h"
#include "driver/recompute/recomputed_plan.h"
#include "ir/autodiff/training_arguments.h"
#include "tools/arguments/backend_arguments.h"
#include "tools/arguments/curve_file.h"
#include "tools/arguments/input_files.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/output_file.h"
#include "tools/arguments/pipeline_arguments.h"
#include "tools/arguments/plan_arguments.h"
#include "tools/arguments/useless_flags.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

// Ranks sum in another order than one process does.
constexpr double kRelativeError = 1e-5;
// With --predict, of each part.
constexpr int kTimings = 9;

struct TrainStepOptions {
  std::int64_t steps = 10;
  bool check = false;
  bool predict = false;
  std::string curve;

  static const base::OptionTable<TrainStepOptions>& table() {
    using T = TrainStepOptions;
    static const base::OptionTable<T> rows{
        "train-step",
        {{"steps", &T::steps, "Number of steps", base::range(1, 1e6)},
         {"check", &T::check, kCheckHelp},
         {"predict", &T::predict,
          "Runs on ranks: time their parts and messages first, and predict the time of a step"},
         {"curve", &T::curve,
          "Write loss and time of each step to this file (CSV), line by line while steps run",
          base::output_file()}}};
    return rows;
  }
};

// With --predict, of a step.
struct Prediction {
  double seconds = 0;
  base::Json details = base::Json::object();
  std::string text;  // in brackets
};

// What came of some steps.
struct Curve {
  // On a pipeline: what it was.
  std::string pipeline;
  std::optional<bool> overlaps;  // on a pipeline: whether messages move while ranks compute
  std::string mpi_threads;       // that MPI grants; empty without mpirun
  std::optional<Prediction> predicted;
  base::Json recomputation;  // of a plan with values that are computed again; null: none
  std::string recomputed;    // the same in words
  std::vector<double> losses;
  std::vector<double> seconds;
  std::vector<ir::Tensor> left;  // parameters and state after the last step
  bool stopped = false;
};

// One step after the other, each from what the last one left.
class OneProcess {
 public:
  OneProcess(const ir::TrainingGraph& step, std::unique_ptr<backends::ExecutablePlan> plan,
             std::vector<ir::Tensor> inputs)
      : first_(step.model_inputs + 1), plan_(std::move(plan)), inputs_(std::move(inputs)) {}

  base::Result<double> step() {
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, plan_->run(inputs_));
    const double loss = outputs.front().f64_at(0);
    std::move(outputs.begin() + 1, outputs.end(),
              inputs_.begin() + static_cast<std::ptrdiff_t>(first_));
    return loss;
  }
  std::vector<ir::Tensor> left() const {
    return {inputs_.begin() + static_cast<std::ptrdiff_t>(first_), inputs_.end()};
  }
  const backends::ExecutablePlan& plan() const { return *plan_; }

 private:
  std::size_t first_;  // input that is carried
  std::unique_ptr<backends::ExecutablePlan> plan_;
  std::vector<ir::Tensor> inputs_;
};

// Relative: the largest of losses, and of what is left.
struct Difference {
  double loss = 0;
  double left = 0;

  bool is_small() const { return loss <= kRelativeError && left <= kRelativeError; }
};

// All tensors as one vector: the length of the difference, of the length of `a`; infinite where one
// is no number.
double relative_error(std::span<const ir::Tensor> a, std::span<const ir::Tensor> b) {
  double squares = 0;
  double error = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    for (std::int64_t i = 0; i < a[k].elements(); ++i) {
      const double difference = a[k].f64_at(i) - b[k].f64_at(i);
      squares += a[k].f64_at(i) * a[k].f64_at(i);
      error += difference * difference;
    }
  }
  if (!std::isfinite(error)) return HUGE_VAL;
  return error == 0 ? 0 : std::sqrt(error / std::max(squares, 1e-60));
}

class TrainStep final : public Command {
 public:
  void declare(Arguments& arguments) override {
    given_ = &arguments.set();
    arguments.positional("MODEL", path_, "An ONNX file, - for standard input, or a plan (*.json)");
    arguments.options(options_);
    arguments.options(training_);
    arguments.options(model_);
    arguments.options(backend_);
    arguments.options(inputs_);
    arguments.options(plan_);
    arguments.options(pipeline_);
    arguments.options(recompute_);
    arguments.options(recompute_.offload);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_RETURN_IF_ERROR(check_pipeline(pipeline_, backend_, plan_));
    EGRET_RETURN_IF_ERROR(check_not_input(options_.curve, {{"the model", path_}}));
    if (options_.curve == "-") return base::usage_error("--curve needs the name of a file");
    if (options_.predict && !pipeline_.are_given() && !is_plan_file(path_))
      return base::usage_error("--predict needs --pipeline-stages, or a plan under mpirun");
    if (is_plan_file(path_) && pipeline_.are_given())
      return base::usage_error("--pipeline-stages takes a model, not a plan");
    if (is_plan_file(path_)) {
      EGRET_RETURN_IF_ERROR(check_flags_of_plan());
      return run_plan(console);
    }
    EGRET_RETURN_IF_ERROR(check_offload());
    EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model,
                           read_concrete_model(path_, model_, console));
    if (pipeline_.are_given()) {
      auto reduced = parallel::model_of_loss(model.graph, training_.options());
      if (!reduced.ok()) return reduced.status().at(path_);
      model.graph = *std::move(reduced);
    }
    EGRET_ASSIGN_OR_RETURN(const ir::TrainingGraph step,
                           ir::training_step(model.graph, training_, path_));
    if (pipeline_.are_given()) return run_pipeline(model.graph, step, console);
    EGRET_ASSIGN_OR_RETURN(OneProcess process, one_process(step, console));
    // After a request to stop there may be no plan within the limit, and a step may take minutes.
    Curve curve;
    curve.stopped = base::stop_requested();
    if (!curve.stopped) {
      CurveFile file;
      EGRET_RETURN_IF_ERROR(file.open(options_.curve));
      EGRET_ASSIGN_OR_RETURN(
          curve, curve_of([&] { return process.step(); }, console, base::stop_requested, &file));
    }
    report_fallbacks(process.plan(), console);
    curve.left = process.left();
    if (recomputed_) {
      curve.recomputation = recomputed_->to_json();
      if (recomputed_->found()) curve.recomputed = recomputed_->text();
    }
    if (options_.check && backend_.limit_arena > 0 && !curve.stopped) {
      const ExitCode kept = keeps_to_arena(process.plan(), backend_, console);
      EGRET_ASSIGN_OR_RETURN(const Curve expected, unlimited_curve(step, console));
      report(console, curve, &expected);
      return difference(expected, curve).is_small() ? kept : ExitCode::kMismatch;
    }
    report(console, curve, nullptr);
    const ExitCode kept = keeps_to_arena(process.plan(), backend_, console);
    return curve.stopped ? ExitCode::kLimit : kept;
  }

 private:
  // The plan has the step already.
  base::Status check_flags_of_plan() {
    base::OptionSet of_models;
    of_models.add(training_);
    of_models.add(model_);
    of_models.add(recompute_);
    if (recompute_.offload.rate > 0) {
      return base::usage_error(
          "--offload-rate cannot be combined with a plan, whose copies are priced already");
    }
    plan_.storage_folder = recompute_.offload.to;
    return refuse_flags(*given_, of_models,
                        "cannot be combined with a plan, which has the step already");
  }

  base::Status check_offload() const {
    const driver::OffloadArguments& offload = recompute_.offload;
    if (offload.rate > 0 && offload.to.empty())
      return base::usage_error("--offload-rate needs --offload-to");
    if (offload.to.empty()) return base::ok();
    if (backend_.limit_arena == 0) return base::usage_error("--offload-to needs --limit-arena");
    if (recompute_.method != "search")
      return base::usage_error("--offload-to needs --recompute-by search");
    return base::ok();
  }

  base::Result<OneProcess> one_process(const ir::TrainingGraph& step, Console& console) {
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> inputs,
                           driver::first_inputs(step, inputs_, backend_.seed));
    EGRET_ASSIGN_OR_RETURN(auto plan, compile_plan(step.graph, backend_, console));
    if (backend_.limit_arena > 0 && plan->report().arena_bytes > backend_.limit_arena &&
        recompute_.method != "none" && !base::stop_requested()) {
      EGRET_ASSIGN_OR_RETURN(auto smaller, recomputing(step, inputs, console));
      if (smaller) plan = std::move(smaller);
    }
    return OneProcess(step, std::move(plan), std::move(inputs));
  }

  // The same steps without a limit of the arena.
  base::Result<Curve> unlimited_curve(const ir::TrainingGraph& step, Console& console) const {
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> inputs,
                           driver::first_inputs(step, inputs_, backend_.seed));
    BackendOptions free = backend_;
    free.limit_arena = 0;
    EGRET_ASSIGN_OR_RETURN(auto plan, compile_plan(step.graph, free, console));
    OneProcess process(step, std::move(plan), std::move(inputs));
    EGRET_ASSIGN_OR_RETURN(Curve curve, curve_of([&] { return process.step(); }, console));
    curve.left = process.left();
    return curve;
  }

  // No other plan keeps to --limit-arena. Nullptr: this one does not either.
  base::Result<std::unique_ptr<backends::ExecutablePlan>> recomputing(
      const ir::TrainingGraph& step, std::span<const ir::Tensor> inputs, Console& console) {
    EGRET_ASSIGN_OR_RETURN(const backends::Backend* backend,
                           backends::backend_called(backend_.backend));
    auto found = driver::compile_recomputed(
        *backend, step.graph, driver::compile_options(backend_, console.options().threads),
        recompute_, inputs);
    if (!found.ok() && found.status().code() == base::StatusCode::kUnsupported) {
      console.warning("no values are computed again: " + found.status().message());
      return std::unique_ptr<backends::ExecutablePlan>();
    }
    if (!found.ok()) return found.status();
    recomputed_.emplace(*std::move(found));
    return std::move(recomputed_->plan);
  }

  // All ranks run, one of them reports.
  base::Result<ExitCode> run_plan(Console& console) {
    EGRET_ASSIGN_OR_RETURN(runtime::Ranks ranks, join_ranks(backend_, plan_, console));
    auto plan = start_plan(path_, ranks, backend_, plan_, console);
    if (!plan.ok()) return rank_failed(ranks, plan.status(), console);
    auto curve = curve_of_plan(*plan, console);
    if (!curve.ok()) return rank_failed(ranks, curve.status(), console);
    plan->release();
    return end_ranks(*curve, plan->reports(), *plan->training(), ranks, console);
  }

  // The answer of ranks that have ended their steps together.
  base::Result<ExitCode> end_ranks(const Curve& curve, bool reports, const ir::TrainingGraph& step,
                                   runtime::Ranks& ranks, Console& console) {
    if (curve.stopped && reports) {
      // mpirun ends this rank once another one has left with the code of a signal.
      report(console, curve, nullptr);
      EGRET_RETURN_IF_ERROR(console.finish());
    }
    ranks.leave();
    if (curve.stopped || !reports) return curve.stopped ? ExitCode::kLimit : ExitCode::kOk;
    return report_ranks(curve, step, console);
  }

  base::Result<ExitCode> run_pipeline(const ir::Graph& model, const ir::TrainingGraph& step,
                                      Console& console) {
    EGRET_ASSIGN_OR_RETURN(runtime::Ranks ranks, join_ranks(backend_, plan_, console));
    bool reports = false;
    auto curve = curve_of_pipeline(model, step, ranks, reports, console);
    if (!curve.ok()) return rank_failed(ranks, curve.status(), console);
    return end_ranks(*curve, reports, step, ranks, console);
  }

  // Messages end with the run, before the ranks part.
  base::Result<Curve> curve_of_pipeline(const ir::Graph& model, const ir::TrainingGraph& step,
                                        const runtime::Ranks& ranks, bool& reports,
                                        Console& console) const {
    EGRET_ASSIGN_OR_RETURN(const auto run,
                           start_pipeline(model, training_, pipeline_, ranks, backend_));
    reports = run->reports();
    EGRET_ASSIGN_OR_RETURN(const auto inputs, driver::first_inputs(step, inputs_, backend_.seed));
    EGRET_RETURN_IF_ERROR(run->begin(inputs));
    std::optional<Prediction> predicted;
    if (options_.predict) {
      EGRET_ASSIGN_OR_RETURN(const auto step_time,
                             run->predict(kTimings, static_cast<double>(base::default_threads())));
      predicted = Prediction{.seconds = step_time.seconds,
                             .text = "busiest rank idle " + base::format_percent(step_time.idle())};
      predicted->details.set("predicted_idle", step_time.idle());
    }
    CurveFile file;
    if (reports) EGRET_RETURN_IF_ERROR(file.open(options_.curve));
    const auto stopped = [&] { return run->stopped(); };  // the ranks agree
    EGRET_ASSIGN_OR_RETURN(Curve curve,
                           curve_of([&] { return run->step(); }, console, stopped, &file));
    EGRET_ASSIGN_OR_RETURN(curve.left, run->end());
    curve.predicted = std::move(predicted);
    curve.pipeline = description_of(run->layout());
    curve.overlaps = run->overlaps();
    curve.mpi_threads = ranks.thread_level();
    return curve;
  }

  // Of several ranks, at the reporting one; with --check compares with one process.
  base::Result<ExitCode> report_ranks(const Curve& curve, const ir::TrainingGraph& step,
                                      Console& console) {
    if (!options_.check) {
      report(console, curve, nullptr);
      return curve.stopped ? ExitCode::kLimit : ExitCode::kOk;
    }
    EGRET_ASSIGN_OR_RETURN(OneProcess process, one_process(step, console));
    options_.steps = static_cast<std::int64_t>(curve.losses.size());
    EGRET_ASSIGN_OR_RETURN(Curve expected, curve_of([&] { return process.step(); }, console));
    expected.left = process.left();
    report(console, curve, &expected);
    return difference(expected, curve).is_small() ? ExitCode::kOk : ExitCode::kMismatch;
  }

  base::Result<Curve> curve_of_plan(runtime::PlanRun& plan, Console& console) const {
    if (!plan.training())
      return base::usage_error(
          path_ + " is not a plan of a training step; `egret plan --train` writes one");
    EGRET_ASSIGN_OR_RETURN(const auto inputs,
                           driver::first_inputs(*plan.training(), inputs_, backend_.seed));
    EGRET_RETURN_IF_ERROR(plan.begin(inputs));
    std::optional<Prediction> predicted;
    if (options_.predict) {
      EGRET_ASSIGN_OR_RETURN(const auto step_time, plan.predict(kTimings));
      predicted = Prediction{.seconds = step_time.seconds(),
                             .text = "computation " + base::format_seconds(step_time.compute_s) +
                                     ", exchanges " + base::format_seconds(step_time.exchange_s)};
      predicted->details.set("predicted_compute_s", step_time.compute_s)
          .set("predicted_exchange_s", step_time.exchange_s);
    }
    CurveFile file;
    if (plan.reports()) EGRET_RETURN_IF_ERROR(file.open(options_.curve));
    const auto stopped = [&] { return plan.stopped(); };  // the ranks agree
    EGRET_ASSIGN_OR_RETURN(Curve curve,
                           curve_of([&] { return plan.step(); }, console, stopped, &file));
    EGRET_ASSIGN_OR_RETURN(curve.left, plan.end());
    curve.predicted = std::move(predicted);
    if (!curve.left.empty()) curve.left.erase(curve.left.begin());  // the loss
    return curve;
  }

  base::Result<Curve> curve_of(const std::function<base::Result<double>()>& step, Console& console,
                               const std::function<bool()>& stopped = base::stop_requested,
                               CurveFile* file = nullptr) const {
    Curve curve;
    const auto steps = static_cast<std::size_t>(options_.steps);
    for (std::size_t i = 0; i < steps && !curve.stopped; ++i) {
      const base::Stopwatch watch;
      EGRET_ASSIGN_OR_RETURN(const double loss, step());
      curve.seconds.push_back(watch.seconds());
      curve.losses.push_back(loss);
      if (file != nullptr) EGRET_RETURN_IF_ERROR(file->add(i, loss, curve.seconds.back()));
      if (!std::isfinite(loss)) {
        console.warning("the loss of step " + std::to_string(i) + " is not finite");
        break;
      }
      curve.stopped = stopped();
    }
    return curve;
  }

  static Difference difference(const Curve& expected, const Curve& found) {
    Difference result;
    for (std::size_t i = 0; i < expected.losses.size(); ++i) {
      const double relative = std::abs(found.losses[i] - expected.losses[i]) /
                              std::max(std::abs(expected.losses[i]), 1e-30);
      result.loss = relative >= 0 ? std::max(result.loss, relative) : HUGE_VAL;
    }
    result.left = relative_error(expected.left, found.left);
    return result;
  }

  static void report(Console& console, const Curve& curve, const Curve* expected) {
    base::Json json = base::versioned_json();
    base::Json losses = base::Json::array();
    base::Json steps = base::Json::array();
    base::TextTable table({{"step", base::Align::kRight},
                           {"loss", base::Align::kRight},
                           {"time", base::Align::kRight}});
    double total = 0;
    for (std::size_t i = 0; i < curve.losses.size(); ++i) {
      losses.push(curve.losses[i]);
      steps.push(curve.seconds[i]);
      total += curve.seconds[i];
      table.row({std::to_string(i), base::format_real(curve.losses[i]),
                 base::format_seconds(curve.seconds[i])});
    }
    std::string hashes;
    for (const ir::Tensor& tensor : curve.left) hashes += tensor.content_hash().to_hex();
    json.set("losses", std::move(losses)).set("seconds", total);
    json.set("step_seconds", std::move(steps));
    json.set("left", base::content_hash(hashes).to_hex());
    std::string text = table.render();
    report_median(curve, json, text);
    if (!curve.recomputation.is_null()) json.set("recomputation", curve.recomputation);
    if (!curve.recomputed.empty()) text += "\n" + curve.recomputed;
    if (expected != nullptr) {
      const Difference error = difference(*expected, curve);
      json.set("loss_error", error.loss).set("left_error", error.left);
      json.set("bound", kRelativeError).set("passed", error.is_small());
      text += "\nerror against one process: losses " + base::format_real(error.loss) +
              ", parameters and state " + base::format_real(error.left) + "\n";
    }
    console.result(json, text);
  }

  // Of runs on ranks. The first step is left out of the median: it touches memory for the first
  // time.
  static void report_median(const Curve& curve, base::Json& json, std::string& text) {
    if (curve.pipeline.empty() && !curve.predicted) return;
    std::vector<double> later = curve.seconds;
    if (later.size() > 1) later.erase(later.begin());
    const double median = base::median(std::move(later));
    json.set("median_s", median);
    text += "\n" + (curve.pipeline.empty() ? std::string("plan") : curve.pipeline) +
            ": median step " + base::format_seconds(median);
    if (curve.predicted) {
      json.set("predicted_s", curve.predicted->seconds);
      for (const auto& [key, value] : curve.predicted->details.members()) json.set(key, value);
      text += ", predicted " + base::format_seconds(curve.predicted->seconds) + " (" +
              curve.predicted->text + ")";
    }
    text += "\n";
    if (curve.pipeline.empty()) return;
    json.set("pipeline", curve.pipeline).set("overlap", *curve.overlaps);
    if (curve.mpi_threads.empty()) return;
    json.set("mpi_threads", curve.mpi_threads);
    if (curve.mpi_threads == "single" || curve.mpi_threads == "funneled")
      text += "MPI grants no second thread (" + curve.mpi_threads +
              "): messages move only while ranks wait\n";
  }

  const base::OptionSet* given_ = nullptr;
  std::string path_;
  TrainStepOptions options_;
  ir::TrainingArguments training_;
  ModelOptions model_;
  BackendOptions backend_;
  InputOptions inputs_;
  PlanRunOptions plan_;
  PipelineArguments pipeline_;
  driver::RecomputeArguments recompute_;
  std::optional<driver::RecomputedPlan> recomputed_;
};

}  // namespace

Verb train_step_verb() {
  return {
      "train-step", "Train a model for some steps",
      "Builds the graph of one training step as `egret grad` does, and runs it repeatedly on "
      "one batch. Each step starts from the parameters and the optimizer state of the previous "
      "step. Prints the loss before each step. The batch is random unless --input gives it. "
      "The input 'labels' holds the labels.\n\nA plan of `egret plan --train` runs on as many "
      "ranks as its mesh has devices: mpirun -n 4 egret train-step plan.json. The plan then "
      "sets the options of the step.\n\n--pipeline-stages trains a model on a pipeline of ranks: "
      "mpirun -n 4 egret train-step model.onnx --pipeline-stages 4 --micro-batches 8. Without "
      "mpirun, the ranks are threads. --stage-ranks 2 gives each stage two ranks, which share it "
      "by "
      "a plan of the planner: mpirun -n 8 egret train-step model.onnx --pipeline-stages 2 "
      "--stage-ranks 2 --replicas 2 --micro-batches 4.\n\n--predict times passes, messages and "
      "sums before the "
      "first step, and the simulator predicts the step; of a plan, segments and exchanges. "
      "--curve keeps losses and times also when Ctrl-C ends mpirun, which may discard what "
      "ranks print then.\n\n--limit-arena limits the memory of "
      "activations. Where no plan keeps to it, values are freed and computed again "
      "(--recompute-by), or copied to a file and back (--offload-to); results are the same, bit "
      "for bit, as with the same kernels and more memory. With a plan, --offload-to takes what the "
      "plan copies to storage, which otherwise stays in the memory of the ranks.\n\n--check "
      "compares losses, parameters "
      "and "
      "optimizer state "
      "with a run in one process and without --limit-arena; the relative error may be 1e-5.",
      make_command<TrainStep>};
}

}  // namespace egret::tools

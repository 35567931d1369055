// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "backends/timing/kernel_work.h"
#include "backends/timing/measure.h"
#include "base/formats/text_table.h"
#include "base/formats/units.h"
#include "base/stop.h"
#include "base/system/peak_memory.h"
#include "cost/database.h"
#include "driver/engine/engine.h"
#include "driver/load_in_engine.h"
#include "driver/measure/calibration.h"
#include "driver/models/sized_runs.h"
#include "tools/arguments/backend_arguments.h"
#include "tools/arguments/input_files.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/sized_answers.h"
#include "tools/console/kernel_report.h"
#include "tools/console/rates_report.h"
#include "tools/frame/allocator.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct BenchOptions {
  double time = 2;
  std::int64_t runs = 10;
  bool kernels = false;
  bool reuse_inputs = false;
  std::string cost_db;

  static const base::OptionTable<BenchOptions>& table() {
    using B = BenchOptions;
    static const base::OptionTable<B> rows{
        "bench",
        {{"time", &B::time, "Measure for at least this time", base::seconds()},
         {"runs", &B::runs, "Measure at least this many runs", base::range(1, 1e6)},
         {"kernels", &B::kernels,
          "Also list each kernel with its time and its share of the roofline of this machine"},
         {"reuse-inputs", &B::reuse_inputs,
          "Run on the same inputs each time: what fits a cache stays there"},
         {"cost-db", &B::cost_db, cost::kDatabaseHelp, base::path()}}};
    return rows;
  }
};

void set_figures(base::Json& json, const backends::Timing& timing,
                 const backends::ExecutablePlan& plan) {
  json.set("median_s", timing.median_s).set("p10_s", timing.p10_s).set("p90_s", timing.p90_s);
  json.set("runs", timing.runs);
  const backends::PlanReport report = plan.report();
  json.set("arena_bytes", report.arena_bytes).set("weights_bytes", report.weights_bytes);
  json.set("fallbacks", std::uint64_t{report.fallbacks.size()});
  json.set("kernel_count", std::uint64_t{report.kernels.size()}).set("slices", report.slices);
  if (report.device_s > 0) json.set("device_s", report.device_s);
}

class Bench final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.list("MODEL", paths_, "ONNX files with equal inputs, or - for standard input");
    arguments.options(options_);
    arguments.options(model_);
    arguments.options(backend_);
    arguments.options(at_);
    arguments.options(inputs_);
    arguments.options(engine_);
  }

  base::Result<ExitCode> run(Console& console) override {
    give_freed_memory_back();
    const std::int64_t resident_before = base::resident_memory_bytes();
    EGRET_ASSIGN_OR_RETURN(const auto engine, driver::start_engine(engine_));
    EGRET_ASSIGN_OR_RETURN(const ModelSource source, source_of(paths_.front()));
    EGRET_ASSIGN_OR_RETURN(const std::vector<driver::SizedRun> runs,
                           driver::sized_runs(source, model_, at_, inputs_));
    return answer_runs(
        runs, console,
        [&](std::size_t i) {
          return measure(runs[i], source, engine.get(), resident_before, console);
        },
        [](base::Json&, ExitCode) {});
  }

 private:
  // All models at the sizes of one run.
  base::Result<Answer> measure(const driver::SizedRun& run, const ModelSource& source,
                               const driver::Engine* engine, std::int64_t resident_before,
                               Console& console) const {
    backends::MeasureOptions measuring;
    EGRET_ASSIGN_OR_RETURN(const std::vector<Racer> racers,
                           compile(run, source, engine, console, measuring.given));
    std::vector<backends::ExecutablePlan*> plans;
    for (const Racer& racer : racers) plans.push_back(racer.plan.get());
    measuring.on_device = engine != nullptr;
    measuring.min_runs = static_cast<int>(options_.runs);
    measuring.min_seconds = options_.time;
    if (options_.reuse_inputs) measuring.rotate_bytes = 0;
    measuring.seed = static_cast<std::uint64_t>(backend_.seed);
    measuring.should_stop = [] { return base::stop_requested(); };
    EGRET_ASSIGN_OR_RETURN(const std::vector<backends::Timing> timings,
                           backends::measure_interleaved(plans, measuring));
    cost::Rates rates;
    if (options_.kernels) {
      EGRET_ASSIGN_OR_RETURN(const cost::DatabaseInUse costs,
                             cost::open_database_in_use(options_.cost_db));
      if (!costs.warning.empty()) console.warning(costs.warning);
      EGRET_ASSIGN_OR_RETURN(
          const driver::KnownRates known,
          driver::rates_once_measured(
              *costs.database, {backend_.backend, threads(console), precision_of(backend_)}));
      rates = known.rates;
    }
    EGRET_ASSIGN_OR_RETURN(Answer answer, report(racers, timings, rates, resident_before, console));
    for (const Racer& racer : racers) {
      if (keeps_to_arena(*racer.plan, backend_, console) != ExitCode::kOk)
        answer.code = ExitCode::kLimit;
    }
    return answer;
  }

  // A plan keeps what it needs: peak memory is the plans', not the files'.
  struct Racer {
    std::unique_ptr<backends::ExecutablePlan> plan;
    ir::Graph graph;  // with --kernels
  };

  static int threads(const Console& console) {
    const auto asked = static_cast<int>(console.options().threads);
    return asked > 0 ? asked : backends::available_threads();
  }

  // `given`: values of the models' inputs, by position.
  base::Result<std::vector<Racer>> compile(const driver::SizedRun& run, const ModelSource& source,
                                           const driver::Engine* engine, Console& console,
                                           std::map<std::size_t, ir::Tensor>& given) const {
    const BindNames names = paths_.size() == 1 ? BindNames::kMustExist : BindNames::kMayBeUnknown;
    std::vector<Racer> racers;
    ModelOptions bound = model_;
    bound.bind = run.bind;
    for (const std::string& path : paths_) {
      const bool first = racers.empty();
      ModelSource file = source;
      if (!first) {
        EGRET_ASSIGN_OR_RETURN(file, source_of(path));
      }
      auto read = read_concrete_model(file, bound, console, names);
      if (!read.ok()) return read.status();
      frontends::ImportedModel& model = *read;
      if (first) given = ir::given_by_position(model.graph, run.given);
      Racer& racer = racers.emplace_back();
      if (engine != nullptr) {
        const backends::CompileOptions how{.threads = threads(console),
                                           .profile = options_.kernels};
        EGRET_ASSIGN_OR_RETURN(racer.plan, driver::load_in_engine(*engine, file, model.graph, how));
        if (options_.kernels) racer.graph = std::move(model.graph);
        continue;
      }
      if (options_.kernels) racer.graph = model.graph;
      BackendOptions backend = backend_;
      backend.checked_indices = !run.given.empty();
      EGRET_ASSIGN_OR_RETURN(
          racer.plan, compile_plan(std::move(model.graph), backend, console, options_.kernels));
      report_fallbacks(*racer.plan, console);
    }
    return racers;
  }

  // The first model's figures stand at the top; all of them, that one too, under "models".
  base::Result<Answer> report(const std::vector<Racer>& racers,
                              const std::vector<backends::Timing>& timings,
                              const cost::Rates& rates, std::int64_t resident_before,
                              Console& console) const {
    const int threads = this->threads(console);
    base::Json json = base::versioned_json();
    set_figures(json, timings[0], *racers[0].plan);
    const std::int64_t peak = base::peak_memory_bytes();
    json.set("threads", threads).set("peak_bytes", peak);
    json.set("model_bytes", std::max<std::int64_t>(peak - resident_before, 0));
    base::Json models = base::Json::array();
    base::TextTable table({{"model"},
                           {"median", base::Align::kRight},
                           {"p10", base::Align::kRight},
                           {"p90", base::Align::kRight},
                           {"runs", base::Align::kRight},
                           {"speed", base::Align::kRight}});
    std::string kernels;
    for (std::size_t i = 0; i < racers.size(); ++i) {
      const backends::Timing& timing = timings[i];
      const double speed = timings[0].median_s / timing.median_s;
      base::Json figures = base::Json::object().set("model", paths_[i]).set("speed", speed);
      set_figures(figures, timing, *racers[i].plan);
      table.row({paths_[i], base::format_seconds(timing.median_s),
                 base::format_seconds(timing.p10_s), base::format_seconds(timing.p90_s),
                 base::format_count(timing.runs), base::format_short(speed) + "x"});
      if (options_.kernels) {
        const backends::PlanReport report = racers[i].plan->report();
        EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Work> works,
                               backends::work_of_kernels(racers[i].graph, report));
        (i == 0 ? json : figures).set("kernels", kernel_list(report, works, rates));
        kernels += "\n" + kernel_table(report, works, rates);
      }
      models.push(std::move(figures));
    }
    json.set("models", std::move(models));
    if (options_.kernels) json.set("rates", rates_json(rates));
    return Answer{std::move(json),
                  table.render() + base::counted(threads, "thread") + "\n" + kernels};
  }

  std::vector<std::string> paths_;
  BenchOptions options_;
  ModelOptions model_;
  BackendOptions backend_;
  driver::AtOptions at_;
  InputOptions inputs_;
  driver::EngineChoice engine_;
};

}  // namespace

Verb bench_verb() {
  return {
      "bench", "Time models",
      "Compiles the model for a backend and runs it many times. The inputs rotate through "
      "more memory than the cache holds. Prints the median, the 10th and the 90th percentile of "
      "the time.\n\n--engine runs the files as they are in another program, such as ONNX Runtime, "
      "and "
      "reports its times (docs/engines.md).\n\nSeveral models run in turns, so slow phases of the "
      "machine affect all of them "
      "equally. Use this to compare models. The speed column is relative to the first "
      "model.\n\n--kernels lists each kernel with its share of the roofline: the least time that "
      "its arithmetic and memory traffic need on this machine, divided by the measured time. The "
      "rates of the machine are measured once and stored in the cost database. Arithmetic is "
      "counted from the operators' definitions, so an algorithm with fewer operations, such as "
      "Winograd's, may exceed 100 %.\n\nWith --json, peak_bytes is the peak memory of the program, "
      "and model_bytes is the increase since before the models were read.",
      make_command<Bench>};
}

}  // namespace egret::tools

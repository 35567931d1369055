// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include "backends/measure.h"
#include "base/stop.h"
#include "base/text_table.h"
#include "base/units.h"
#include "tools/backend_arguments.h"
#include "tools/model_file.h"
#include "tools/verb.h"

namespace egret::tools {
namespace {

struct BenchOptions {
  double time = 2;
  std::int64_t runs = 10;
  bool kernels = false;

  static const base::OptionTable<BenchOptions>& table() {
    using B = BenchOptions;
    static const base::OptionTable<B> rows{
        "bench",
        {{"time", &B::time, "Measure at least this long", base::seconds()},
         {"runs", &B::runs, "Measure at least this many runs", base::range(1, 1e6)},
         {"kernels", &B::kernels, "Also list each kernel with its time"}}};
    return rows;
  }
};

std::int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

class Bench final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file, or - for standard input");
    arguments.options(options_);
    arguments.options(model_);
    arguments.options(backend_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(frontends::ImportedModel model,
                           read_concrete_model(path_, model_, console));
    EGRET_ASSIGN_OR_RETURN(const auto plan,
                           compile_plan(model.graph, backend_, console, options_.kernels));
    model = {};  // the plan keeps what it needs; peak memory should be the plan's
    report_fallbacks(*plan, console);
    backends::MeasureOptions measuring;
    measuring.min_runs = static_cast<int>(options_.runs);
    measuring.min_seconds = options_.time;
    measuring.seed = static_cast<std::uint64_t>(backend_.seed);
    measuring.should_stop = [] { return base::stop_requested(); };
    EGRET_ASSIGN_OR_RETURN(const backends::Timing timing, backends::measure(*plan, measuring));

    const std::int64_t threads =
        console.options().threads > 0 ? console.options().threads : backends::available_threads();
    base::Json json = base::versioned_json();
    json.set("median_s", timing.median_s).set("p10_s", timing.p10_s).set("p90_s", timing.p90_s);
    json.set("runs", timing.runs).set("threads", threads).set("peak_bytes", peak_bytes());
    const backends::PlanReport report = plan->report();
    json.set("arena_bytes", report.arena_bytes).set("weights_bytes", report.weights_bytes);
    json.set("fallbacks", std::uint64_t{report.fallbacks.size()});
    std::string text =
        base::format_seconds(timing.median_s) + " median, " + base::format_seconds(timing.p10_s) +
        " to " + base::format_seconds(timing.p90_s) + " (p10 to p90), " +
        std::to_string(timing.runs) + " runs, " + std::to_string(threads) + " threads\n";
    if (options_.kernels) text += "\n" + kernels_text(report, json);
    console.result(json, text);
    return ExitCode::kOk;
  }

 private:
  static std::string kernels_text(const backends::PlanReport& report, base::Json& json) {
    base::TextTable table(
        {{"kernel"}, {"time", base::Align::kRight}, {"implementation"}, {"layout"}, {"nodes"}});
    base::Json list = base::Json::array();
    for (const auto& kernel : report.kernels) {
      table.row({kernel.name, base::format_seconds(kernel.seconds), kernel.implementation,
                 kernel.layout, joined(kernel.nodes)});
      list.push(base::Json::object()
                    .set("kernel", kernel.name)
                    .set("seconds", kernel.seconds)
                    .set("implementation", kernel.implementation)
                    .set("layout", kernel.layout)
                    .set("nodes", joined(kernel.nodes)));
    }
    json.set("kernels", std::move(list));
    return table.render();
  }

  std::string path_;
  BenchOptions options_;
  ModelOptions model_;
  BackendOptions backend_;
};

}  // namespace

Verb bench_verb() {
  return {"bench", "Time a model",
          "Compiles the model for a backend and runs it many times on random inputs that rotate "
          "beyond the cache. "
          "Prints the median and the 10th and 90th percentile.",
          make_command<Bench>};
}

}  // namespace egret::tools

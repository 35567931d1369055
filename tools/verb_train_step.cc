// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>

#include "base/stop.h"
#include "base/text_table.h"
#include "base/units.h"
#include "tools/backend_arguments.h"
#include "tools/model_file.h"
#include "tools/training_arguments.h"
#include "tools/verb.h"

namespace egret::tools {
namespace {

struct TrainStepOptions {
  std::int64_t steps = 10;

  static const base::OptionTable<TrainStepOptions>& table() {
    using T = TrainStepOptions;
    static const base::OptionTable<T> rows{"train-step",
                                           {{"steps", &T::steps, "How many", base::range(1, 1e6)}}};
    return rows;
  }
};

class TrainStep final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file, or - for standard input");
    arguments.options(options_);
    arguments.options(training_);
    arguments.options(model_);
    arguments.options(backend_);
  }

  base::Result<ExitCode> run(Console& console) override {
    EGRET_ASSIGN_OR_RETURN(const frontends::ImportedModel model,
                           read_concrete_model(path_, model_, console));
    const auto step = ir::training_graph(model.graph, training_.options());
    if (!step.ok()) return step.status().at(path_);
    EGRET_ASSIGN_OR_RETURN(const auto plan, compile_plan(step->graph, backend_, console));
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> inputs, first_inputs(*step));

    std::vector<double> losses;
    std::vector<double> seconds;
    bool stopped = false;
    for (std::int64_t i = 0; i < options_.steps && !stopped; ++i) {
      const auto start = std::chrono::steady_clock::now();
      EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, plan->run(inputs));
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      losses.push_back(outputs[0].f64_at(0));
      if (!std::isfinite(losses.back())) {
        console.warning("the loss of step " + std::to_string(i) + " is not finite");
        break;
      }
      std::move(outputs.begin() + 1, outputs.end(),
                inputs.begin() + static_cast<std::ptrdiff_t>(step->model_inputs) + 1);
      stopped = base::stop_requested();
    }
    report_fallbacks(*plan, console);
    report(console, losses, seconds);
    return stopped ? ExitCode::kLimit : ExitCode::kOk;
  }

 private:
  // Random data, or what --input gives; class numbers are taken modulo the number of classes.
  base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step) const {
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> inputs, model_inputs(step.graph, backend_));
    fit_labels(step, inputs[step.model_inputs]);
    std::copy(step.initial.begin(), step.initial.end(),
              inputs.begin() + static_cast<std::ptrdiff_t>(step.model_inputs) + 1);
    return inputs;
  }

  static void report(Console& console, const std::vector<double>& losses,
                     const std::vector<double>& seconds) {
    base::Json json = base::versioned_json();
    base::Json curve = base::Json::array();
    base::TextTable table({{"step", base::Align::kRight},
                           {"loss", base::Align::kRight},
                           {"time", base::Align::kRight}});
    double total = 0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      curve.push(losses[i]);
      total += seconds[i];
      table.row(
          {std::to_string(i), base::format_real(losses[i]), base::format_seconds(seconds[i])});
    }
    json.set("losses", std::move(curve)).set("seconds", total);
    console.result(json, table.render());
  }

  std::string path_;
  TrainStepOptions options_;
  TrainingArguments training_;
  ModelOptions model_;
  BackendOptions backend_;
};

}  // namespace

Verb train_step_verb() {
  return {"train-step", "Train a model for some steps",
          "Makes the graph of one training step as egret grad does, and runs it again and again on "
          "one batch: each step starts from the parameters and the state that the last one left. "
          "Prints the loss before each step. The batch is random unless --input gives it; labels "
          "are the input 'labels'.",
          make_command<TrainStep>};
}

}  // namespace egret::tools

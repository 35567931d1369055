// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/formats/units.h"
#include "base/stop.h"
#include "driver/models/training_inputs.h"
#include "ir/autodiff/training_arguments.h"
#include "ir/evaluate/interpreter.h"
#include "tools/arguments/model_file.h"
#include "tools/arguments/output_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct GradOptions {
  std::string output;
  bool skip_check = false;

  static const base::OptionTable<GradOptions>& table() {
    using G = GradOptions;
    static const base::OptionTable<G> rows{
        "grad",
        {{"output", &G::output, "File for the result; - is standard output", base::output_file(),
          'o'},
         {"no-run", &G::skip_check,
          "Do not run the step with the reference interpreter before writing it"}}};
    return rows;
  }
};

std::string count(std::size_t n, std::string_view what) {
  return base::counted(static_cast<std::int64_t>(n), what);
}

// One run on random inputs with the parameters of the model.
base::Result<double> loss_of_one_step(const ir::TrainingGraph& step) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> inputs, driver::first_inputs(step));
  EGRET_ASSIGN_OR_RETURN(const std::vector<ir::Tensor> outputs,
                         ir::interpret(step.graph, inputs, {.should_stop = base::stop_requested}));
  return outputs[0].f64_at(0);
}

class Grad final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("MODEL", path_, "An ONNX file, or - for standard input");
    arguments.options(options_);
    arguments.options(training_);
    arguments.options(model_);
  }

  base::Result<ExitCode> run(Console& console) override {
    if (options_.output.empty())
      return base::usage_error("the output is missing: give it with -o FILE");
    EGRET_RETURN_IF_ERROR(check_not_input(options_.output, {{"the model", path_}}));
    EGRET_ASSIGN_OR_RETURN(const frontends::ImportedModel model,
                           read_concrete_model(path_, model_, console));
    const std::string external = external_data_of(options_.output);
    EGRET_RETURN_IF_ERROR(check_weights_stay(options_.output, external, path_, model));
    EGRET_ASSIGN_OR_RETURN(const ir::TrainingGraph step,
                           ir::training_step(model.graph, training_, path_));
    base::Json json = base::versioned_json();
    if (!options_.skip_check) {
      EGRET_ASSIGN_OR_RETURN(const double loss, loss_of_one_step(step));
      if (!std::isfinite(loss)) console.warning("the loss of random inputs is not finite");
      json.set("loss", loss);
    }
    frontends::ExportOptions exporting;
    exporting.external_data_path = external;
    EGRET_ASSIGN_OR_RETURN(frontends::ExportedModel exported,
                           frontends::export_onnx(step.graph, model.info, exporting));
    EGRET_RETURN_IF_ERROR(write_model(console, options_.output, exported));
    if (options_.output == "-") return ExitCode::kOk;

    const std::size_t operators = step.graph.operator_count();
    double trained = 0;
    for (std::size_t i = 0; i < step.parameters.size(); ++i) {
      trained += static_cast<double>(step.initial[i].elements());
    }
    json.set("parameters", base::Json::array(step.parameters))
        .set("state", base::Json::array(step.state))
        .set("trained_elements", trained)
        .set("operators_forward", std::uint64_t{step.forward_operators})
        .set("operators", std::uint64_t{operators})
        .set("bytes", std::uint64_t{exported.bytes.size()});
    console.result(json, count(step.parameters.size(), "parameter") + " of " +
                             base::counted(static_cast<std::int64_t>(trained), "number") + ", " +
                             count(step.state.size(), "state") + "; " +
                             count(step.forward_operators, "operator") + " of the loss became " +
                             std::to_string(operators) + "\n");
    return ExitCode::kOk;
  }

 private:
  std::string path_;
  GradOptions options_;
  ir::TrainingArguments training_;
  ModelOptions model_;
};

}  // namespace

Verb grad_verb() {
  return {"grad", "Build the graph of one training step",
          "Writes the forward pass, loss, backward pass and update of a model as one ONNX graph of "
          "ordinary operators. The inputs are the model's inputs, the labels, the parameters and "
          "the optimizer state. The outputs are the loss and the next value of each parameter and "
          "state, called NAME.next. The parameters are the floating-point initializers of the "
          "model; --freeze excludes some of them. Gradients are derived from the operators' "
          "definitions. The step is run once on random inputs before it is written.",
          make_command<Grad>};
}

}  // namespace egret::tools

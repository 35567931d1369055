// SPDX-License-Identifier: Apache-2.0
// egret.train_step(): a model's training step, run again and again.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "driver/measure/backend_options.h"
#include "driver/models/training_inputs.h"
#include "ir/autodiff/training_arguments.h"
#include "python/src/arrays.h"
#include "python/src/bindings.h"
#include "python/src/models.h"
#include "python/src/options.h"

namespace egret::python {
namespace {

struct Arguments {
  CommonOptions common;
  driver::ModelOptions model;
  driver::BackendOptions backend;
  ir::TrainingArguments training;

  void fill(const OptionTexts& texts) { fill_options(texts, common, model, backend, training); }
};

// Parameters and the optimizer's state stay here from one step to the next.
class TrainingStep {
 public:
  static base::Result<std::unique_ptr<TrainingStep>> of(const driver::ModelSource& source,
                                                        const Arguments& arguments) {
    EGRET_ASSIGN_OR_RETURN(const driver::ConcreteModel read,
                           driver::read_concrete_model(source, arguments.model));
    auto made = std::make_unique<TrainingStep>();
    EGRET_ASSIGN_OR_RETURN(made->step_,
                           ir::training_step(read.model.graph, arguments.training, source.path));
    EGRET_ASSIGN_OR_RETURN(made->plan_, driver::compile_plan(made->step_.graph, arguments.backend,
                                                             arguments.common.threads));
    made->carried_ = made->step_.initial;
    made->seed_ = arguments.backend.seed;
    return made;
  }

  // The loss before the update. Inputs that are not given are random, the same in each step.
  base::Result<double> run(const ir::GivenInputs& given) {
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> inputs,
                           driver::first_inputs(step_, given, seed_));
    std::ranges::copy(carried_, inputs.begin() + static_cast<std::ptrdiff_t>(first()));
    EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> outputs, plan_->run(inputs));
    carried_.assign(std::make_move_iterator(outputs.begin() + 1),
                    std::make_move_iterator(outputs.end()));
    return outputs.front().f64_at(0);
  }

  std::vector<std::string> inputs() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < first(); ++i)
      names.push_back(step_.graph.node(step_.graph.inputs()[i]).name);
    return names;
  }
  nb::dict carried(bool state) const {
    nb::dict arrays;
    const std::size_t begin = state ? step_.parameters.size() : 0;
    const std::vector<std::string>& names = state ? step_.state : step_.parameters;
    for (std::size_t i = 0; i < names.size(); ++i)
      arrays[names[i].c_str()] = array_of(carried_[begin + i]);
    return arrays;
  }
  std::int64_t classes() const { return step_.classes; }

 private:
  std::size_t first() const { return step_.model_inputs + 1; }  // input that is carried

  ir::TrainingGraph step_;
  std::unique_ptr<backends::ExecutablePlan> plan_;
  std::vector<ir::Tensor> carried_;
  std::int64_t seed_ = 1;
};

}  // namespace

void bind_training(nb::module_& module) {
  nb::class_<TrainingStep>(module, "TrainingStep")
      .def_prop_ro("inputs", &TrainingStep::inputs)
      .def_prop_ro("classes", &TrainingStep::classes)
      .def("parameters", [](const TrainingStep& step) { return step.carried(false); })
      .def("state", [](const TrainingStep& step) { return step.carried(true); })
      .def("run", [](TrainingStep& step, const nb::dict& feeds) {
        const ir::GivenInputs given = tensors_of(feeds);
        Call call;
        return *call.run([&] { return step.run(given); });
      });
  module.def("training_step", [](const Model& model, const OptionTexts& options) {
    Arguments arguments;
    arguments.fill(options);
    const driver::ModelSource source = model.source();
    Call call;
    return *call.run([&] { return TrainingStep::of(source, arguments); });
  });
  module.def("training_options", [] {
    Arguments arguments;
    return describe(arguments.common, arguments.model, arguments.backend, arguments.training);
  });
}

}  // namespace egret::python

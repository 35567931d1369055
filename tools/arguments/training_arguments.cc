// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/training_arguments.h"

#include <algorithm>

#include "base/options/option_set.h"

namespace egret::tools {
namespace {

std::vector<std::string> names(std::span<const ir::TrainingRow> rows) {
  std::vector<std::string> list;
  for (const ir::TrainingRow& row : rows) list.emplace_back(row.name);
  return list;
}

// Class numbers that are drawn or given become classes: modulo their number.
void fit_labels(const ir::TrainingGraph& step, ir::Tensor& labels) {
  for (std::int64_t i = 0; step.classes > 0 && i < labels.elements(); ++i) {
    const std::int64_t label = labels.i64_at(i) % step.classes;
    labels.set_i64(i, label < 0 ? label + step.classes : label);
  }
}

}  // namespace

const base::OptionTable<TrainingArguments>& TrainingArguments::table() {
  using T = TrainingArguments;
  static const base::OptionTable<T> rows{
      "training",
      {{"loss", &T::loss, "What is made small: cross_entropy of logits with class numbers, or mse",
        base::one_of(names(ir::losses()))},
       {"optimizer", &T::optimizer, "How parameters move", base::one_of(names(ir::optimizers()))},
       {"lr", &T::lr, "Learning rate", base::range(0)},
       {"momentum", &T::momentum, "Momentum's share of the last step", base::range(0, 1)},
       {"beta1", &T::beta1, "Adam: decay of the average gradient", base::range(0, 1)},
       {"beta2", &T::beta2, "Adam: decay of the average square", base::range(0, 1)},
       {"adam-epsilon", &T::adam_epsilon, "Adam: added to the root", base::range(0)},
       {"loss-of", &T::loss_of, "The output that the loss looks at; the first where none is named"},
       {"freeze", &T::freeze,
        "A constant that is not trained, by name; a final * stands for any ending"}}};
  return rows;
}

ir::TrainingOptions TrainingArguments::options() const {
  return {.loss = loss,
          .optimizer = optimizer,
          .model_output = loss_of,
          .freeze = freeze,
          .learning_rate = lr,
          .momentum = momentum,
          .beta1 = beta1,
          .beta2 = beta2,
          .adam_epsilon = adam_epsilon};
}

base::Json to_json(const TrainingArguments& arguments) {
  TrainingArguments copy = arguments;
  base::OptionSet options;
  options.add(copy);
  base::Json json = base::Json::object();
  for (const base::BoundOption& option : options.options()) {
    const auto* list = std::get_if<std::vector<std::string>*>(&option.slot);
    json.set(option.name, list != nullptr ? base::Json::array(**list) : option.value_text());
  }
  return json;
}

base::Result<TrainingArguments> read_training(const base::Json& json) {
  TrainingArguments arguments;
  base::OptionSet options;
  options.add(arguments);
  if (!json.is_object()) return base::bad_input("'training' is no object");
  for (const auto& [name, value] : json.members()) {
    std::vector<std::string> texts;
    for (const base::Json& item : value.is_array() ? value.items() : std::vector{value}) {
      EGRET_ASSIGN_OR_RETURN(std::string text, item.as_string());
      texts.push_back(std::move(text));
    }
    if (texts.empty()) continue;
    const base::Status status =
        options.set(name, texts, base::OptionOrigin::kConfigFile, "training");
    if (!status.ok()) return base::bad_input(status.message());
  }
  return arguments;
}

base::Result<ir::TrainingGraph> training_step(const ir::Graph& model,
                                              const TrainingArguments& arguments,
                                              const std::string& path) {
  auto step = ir::training_graph(model, arguments.options());
  if (!step.ok()) return step.status().at(path);
  return step;
}

base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const BackendOptions& options) {
  EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> inputs, model_inputs(step.graph, options));
  fit_labels(step, inputs[step.model_inputs]);
  std::ranges::copy(step.initial,
                    inputs.begin() + static_cast<std::ptrdiff_t>(step.model_inputs) + 1);
  return inputs;
}

}  // namespace egret::tools

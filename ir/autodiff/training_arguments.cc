// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/training_arguments.h"

#include <span>
#include <utility>
#include <variant>

#include "base/options/option_set.h"

namespace egret::ir {
namespace {

std::vector<std::string> names(std::span<const TrainingRow> rows) {
  std::vector<std::string> list;
  for (const TrainingRow& row : rows) list.emplace_back(row.name);
  return list;
}

}  // namespace

const base::OptionTable<TrainingArguments>& TrainingArguments::table() {
  using T = TrainingArguments;
  static const base::OptionTable<T> rows{
      "training",
      {{"loss", &T::loss, "Loss to minimize: cross_entropy of logits and class numbers, or mse",
        base::one_of(names(losses()))},
       {"optimizer", &T::optimizer, "Optimizer that updates the parameters",
        base::one_of(names(optimizers()))},
       {"lr", &T::lr, "Learning rate", base::range(0)},
       {"momentum", &T::momentum, "Momentum: factor of the last step", base::range(0, 1)},
       {"beta1", &T::beta1, "Adam: decay of the average gradient", base::range(0, 1)},
       {"beta2", &T::beta2, "Adam: decay of the average square", base::range(0, 1)},
       {"adam-epsilon", &T::adam_epsilon, "Adam: added to the root", base::range(0)},
       {"loss-of", &T::loss_of, "Output on which the loss is computed (default: the first)"},
       {"freeze", &T::freeze,
        "Constant to keep fixed during training, by name; a final * matches any suffix"}}};
  return rows;
}

TrainingOptions TrainingArguments::options() const {
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
  if (!json.is_object()) return base::bad_input("'training' must be an object");
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

base::Result<TrainingGraph> training_step(const Graph& model, const TrainingArguments& arguments,
                                          const std::string& path) {
  auto step = training_graph(model, arguments.options());
  if (!step.ok()) return step.status().at(path);
  return step;
}

}  // namespace egret::ir

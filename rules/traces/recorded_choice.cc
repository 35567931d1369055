// SPDX-License-Identifier: Apache-2.0
#include "rules/traces/recorded_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace egret::rules {

using base::Json;
using base::Result;

namespace {

constexpr int kMostSlots = 10'000;

Result<int> slot_of(const Json& json) {
  EGRET_ASSIGN_OR_RETURN(const std::int64_t slot, json.as_integer());
  if (slot < 0 || slot >= kMostSlots) return base::bad_input("a number is out of range");
  return static_cast<int>(slot);
}

Result<ir::TensorType> type_of(const Json& dtype, const Json& sizes) {
  EGRET_ASSIGN_OR_RETURN(const std::string name, dtype.as_string());
  const auto known = ir::parse_dtype(name);
  if (!known || !sizes.is_array()) return base::bad_input("a type is malformed");
  ir::TensorType type;
  type.dtype = *known;
  for (const Json& size : sizes.items()) {
    EGRET_ASSIGN_OR_RETURN(const std::int64_t number, size.as_integer());
    if (number < 0) return base::bad_input("a size is negative");
    type.dims.push_back(ir::Index(number));
  }
  return type;
}

}  // namespace

RecordedChoice recorded(const Rule& rule, const Choice& choice) {
  RecordedChoice made{.variables = choice.variables};
  for (const Term* term : source_applications(rule)) made.attrs.push_back(choice.attrs.at(term));
  return made;
}

RecordedChoice recorded(const Rule& rule, const Instance& instance) {
  RecordedChoice made = recorded(rule, instance.choice);
  for (std::size_t i = 0; i < instance.splats.size(); ++i) {
    if (!instance.splats[i]) continue;
    const std::string& name = instance.left.node(instance.left.inputs()[i]).name;
    const auto slot = std::ranges::find(rule.tensors, name) - rule.tensors.begin();
    made.splats.emplace(static_cast<int>(slot), *instance.splats[i]);
  }
  return made;
}

std::optional<Choice> choice_of(const Rule& rule, const RecordedChoice& choice) {
  Choice made{.variables = choice.variables, .attrs = {}};
  const auto terms = source_applications(rule);
  if (terms.size() != choice.attrs.size()) return std::nullopt;
  for (std::size_t slot = 0; slot < rule.tensors.size(); ++slot) {
    // Variables that stand in targets alone do not exist: a rule without them does not parse.
    if (rule.is_variable(static_cast<int>(slot)) &&
        !choice.variables.contains(static_cast<int>(slot)))
      return std::nullopt;
  }
  for (const auto& [slot, type] : choice.variables) {
    if (static_cast<std::size_t>(slot) >= rule.tensors.size() || !rule.is_variable(slot))
      return std::nullopt;
  }
  for (std::size_t i = 0; i < terms.size(); ++i) {
    auto attrs = ir::canonical_attrs(terms[i]->op->attrs(), choice.attrs[i]);
    if (!attrs.ok()) return std::nullopt;
    made.attrs.emplace(terms[i], *std::move(attrs));
  }
  return made;
}

Json json_of(const RecordedChoice& choice) {
  Json variables = Json::array();
  for (const auto& [slot, type] : choice.variables) {
    Json sizes = Json::array();
    for (const ir::Index& size : type.dims) sizes.push(size.constant());
    variables.push(Json::array()
                       .push(std::int64_t{slot})
                       .push(std::string(ir::to_string(type.dtype)))
                       .push(std::move(sizes)));
  }
  Json made = Json::object().set("variables", std::move(variables));
  Json all = Json::array();
  for (const ir::Attrs& attrs : choice.attrs) {
    Json one = Json::object();
    for (const ir::Attrs::Entry& entry : attrs.entries())
      one.set(entry.name, ir::to_string(entry.value));
    all.push(std::move(one));
  }
  made.set("attributes", std::move(all));
  if (choice.splats.empty()) return made;
  Json splats = Json::array();
  for (const auto& [slot, number] : choice.splats)
    splats.push(Json::array().push(std::int64_t{slot}).push(ir::to_string(ir::AttrValue(number))));
  return made.set("constants", std::move(splats));
}

Result<RecordedChoice> parse_recorded_choice(const Json& json) {
  const Json* variables = json.find("variables");
  const Json* attributes = json.find("attributes");
  if (variables == nullptr || !variables->is_array() || attributes == nullptr ||
      !attributes->is_array())
    return base::bad_input("a choice has \"variables\" and \"attributes\"");
  RecordedChoice made;
  for (const Json& variable : variables->items()) {
    if (!variable.is_array() || variable.items().size() != 3)
      return base::bad_input("a variable is malformed");
    EGRET_ASSIGN_OR_RETURN(const int slot, slot_of(variable.items()[0]));
    EGRET_ASSIGN_OR_RETURN(ir::TensorType type, type_of(variable.items()[1], variable.items()[2]));
    made.variables.insert_or_assign(slot, std::move(type));
  }
  for (const Json& one : attributes->items()) {
    if (!one.is_object()) return base::bad_input("attributes are malformed");
    ir::Attrs attrs;
    for (const auto& [name, value] : one.members()) {
      EGRET_ASSIGN_OR_RETURN(const std::string text, value.as_string());
      EGRET_ASSIGN_OR_RETURN(ir::AttrValue read, ir::parse_attr_value(text));
      attrs.set(name, std::move(read));
    }
    made.attrs.push_back(std::move(attrs));
  }
  const Json* constants = json.find("constants");
  if (constants == nullptr) return made;
  if (!constants->is_array()) return base::bad_input("constants are malformed");
  for (const Json& constant : constants->items()) {
    if (!constant.is_array() || constant.items().size() != 2)
      return base::bad_input("a constant is malformed");
    EGRET_ASSIGN_OR_RETURN(const int slot, slot_of(constant.items()[0]));
    EGRET_ASSIGN_OR_RETURN(const std::string text, constant.items()[1].as_string());
    EGRET_ASSIGN_OR_RETURN(const ir::AttrValue value, ir::parse_attr_value(text));
    const double* number = std::get_if<double>(&value);
    if (number == nullptr) return base::bad_input("a constant is no real number");
    made.splats.insert_or_assign(slot, *number);
  }
  return made;
}

}  // namespace egret::rules

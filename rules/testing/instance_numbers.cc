// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instance_numbers.h"

#include <cmath>
#include <utility>

#include "rules/language/attribute_pattern.h"

namespace egret::rules {

std::string number_name(const std::string& name, std::int64_t value) {
  return is_negated(value) ? "-" + name : name;
}

std::string size_name(const Rule& rule, int slot, std::size_t axis) {
  return rule.tensors[static_cast<std::size_t>(slot)] + "." + std::to_string(axis);
}

std::string element_name(const std::string& tensor) { return tensor + ".element"; }

bool is_empty_size(const ir::Index& size) { return size.is_constant() && size.constant() == 0; }

// Reals are known up to renaming: equal unknown reals share a number, known ones appear with their
// value.
std::string structure_of_reals(const Numbers& numbers, const std::set<std::string>& unknown) {
  std::string structure;
  std::map<double, std::size_t> classes;
  for (const auto& [name, real] : numbers.reals) {
    const std::size_t known = classes.emplace(real, classes.size()).first->second;
    const bool open = unknown.contains(name) && std::isfinite(real);
    structure += name + (open ? "~" + std::to_string(known) : "=" + std::to_string(real)) + " ";
  }
  return structure;
}

// The integers and reals of an instance by name. All that a family fixes (element types, ranks,
// list lengths, texts, signs of attributes) goes into the structure.
Numbers numbers_of(const Rule& rule, const Instance& instance) {
  Numbers numbers;
  const auto add = [&](const std::string& name, std::int64_t value) {
    numbers.integers[number_name(name, value)] = is_negated(value) ? -value : value;
    if (value < 0)
      numbers.structure +=
          name + (value >= kLeastNamed ? "<0 " : "=" + std::to_string(value) + " ");
  };
  for (const auto& [slot, type] : instance.choice.variables) {
    numbers.structure += rule.tensors[static_cast<std::size_t>(slot)] + " " +
                         std::string(to_string(type.dtype)) + "/" + std::to_string(type.rank()) +
                         " ";
  }
  numbers.integers.merge(sizes_of(rule, instance.choice));
  for (const auto& [slot, type] : instance.choice.variables) {
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
      if (is_empty_size(type.dims[axis])) numbers.structure += size_name(rule, slot, axis) + "=0 ";
    }
  }
  for (std::size_t i = 0; i < instance.splats.size(); ++i) {
    if (!instance.splats[i]) continue;
    const ir::Node& input = instance.left.node(instance.left.inputs()[i]);
    numbers.reals[input.name] = *instance.splats[i];
    if (!ir::is_float(input.type.dtype))
      add(element_name(input.name), static_cast<std::int64_t>(*instance.splats[i]));
  }
  const auto terms = source_applications(rule);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto found = instance.choice.attrs.find(terms[i]);
    if (found == instance.choice.attrs.end()) continue;
    for (const auto& [name, value] : found->second.entries()) {
      const std::string prefix = std::to_string(i) + "." + name;
      if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        add(prefix, *integer);
      } else if (const auto* list = std::get_if<ir::Integers>(&value)) {
        numbers.structure += prefix + "[" + std::to_string(list->size()) + "] ";
        for (std::size_t k = 0; k < list->size(); ++k)
          add(prefix + "." + std::to_string(k), (*list)[k]);
      } else if (const auto* real = std::get_if<double>(&value)) {
        numbers.reals[prefix] = *real;
      } else {
        numbers.structure += prefix + "=" + ir::to_string(value) + " ";
      }
    }
  }
  return numbers;
}

ir::SymbolValues sizes_of(const Rule& rule, const Choice& choice) {
  ir::SymbolValues sizes;
  for (const auto& [slot, type] : choice.variables) {
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
      if (!is_empty_size(type.dims[axis]))
        sizes[size_name(rule, slot, axis)] = type.dims[axis].constant();
    }
  }
  return sizes;
}

std::map<std::string, std::string> equal_attributes(const Rule& rule) {
  std::map<std::string, std::string> equal;
  std::map<int, std::string> variables;                         // by slot
  std::map<std::pair<int, std::string>, std::string> captured;  // by spread and attribute
  const auto terms = source_applications(rule);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (const ir::AttrSpec& spec : terms[i]->op->attrs()) {
      const std::string name = std::to_string(i) + "." + spec.name;
      const Expr* pattern = pattern_of(*terms[i], spec.name);
      if (pattern == nullptr && terms[i]->spread >= 0) {
        const auto first = captured.try_emplace({terms[i]->spread, spec.name}, name).first->second;
        if (first != name) equal.emplace(name, first);
      }
      if (pattern != nullptr && pattern->kind == Expr::Kind::kAttribute) {
        const auto first = variables.try_emplace(pattern->slot, name).first->second;
        if (first != name) equal.emplace(name, first);
      }
    }
  }
  return equal;
}

void add_equal_attributes(const std::map<std::string, std::string>& equal,
                          ir::SymbolValues& integers) {
  ir::SymbolValues added;
  for (const auto& [name, first] : equal) {
    for (const auto& [number, value] : integers) {
      const std::string sign = number.starts_with("-") ? "-" : "";
      const std::string rest = number.substr(sign.size());
      const bool is_first = rest == first || rest.starts_with(first + ".");
      if (is_first) added[sign + name + rest.substr(first.size())] = value;
    }
  }
  for (const auto& [name, value] : added) integers[name] = value;
}

// The choice with the given integers instead of its own, by the names of numbers_of(). Signs stay.
Choice with_integers(const Rule& rule, Choice choice, const ir::SymbolValues& integers) {
  const auto set_size = [&](const std::string& name, ir::Index& size) {
    if (const auto found = integers.find(name); found != integers.end()) size = found->second;
  };
  const auto set = [&](const std::string& name, std::int64_t& number) {
    const bool negated = is_negated(number);
    if (const auto found = integers.find(number_name(name, number)); found != integers.end())
      number = negated ? -found->second : found->second;
  };
  for (auto& [slot, type] : choice.variables) {
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis)
      set_size(size_name(rule, slot, axis), type.dims[axis]);
  }
  const auto terms = source_applications(rule);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto found = choice.attrs.find(terms[i]);
    if (found == choice.attrs.end()) continue;
    ir::Attrs attrs = found->second;
    for (auto [name, value] : found->second.entries()) {
      const std::string prefix = std::to_string(i) + "." + name;
      if (auto* integer = std::get_if<std::int64_t>(&value)) {
        set(prefix, *integer);
      } else if (auto* list = std::get_if<ir::Integers>(&value)) {
        for (std::size_t k = 0; k < list->size(); ++k)
          set(prefix + "." + std::to_string(k), (*list)[k]);
      }
      attrs.set(name, std::move(value));
    }
    found->second = std::move(attrs);
  }
  return choice;
}

}  // namespace egret::rules

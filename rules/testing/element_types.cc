// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/element_types.h"

#include <string>
#include <variant>

namespace egret::rules {

using ir::DType;

namespace {

constexpr DType kDrawn = DType::kI64;
constexpr DType kOthers[] = {DType::kU8, DType::kI8};

Choice with_all(Choice choice, DType other) {
  for (auto& [slot, type] : choice.variables) {
    if (type.dtype == kDrawn) type.dtype = other;
  }
  for (auto& [term, attrs] : choice.attrs) {
    const ir::Attrs before = attrs;
    for (const ir::Attrs::Entry& entry : before.entries()) {
      const auto* text = std::get_if<std::string>(&entry.value);
      if (text != nullptr && *text == to_string(kDrawn))
        attrs.set(entry.name, std::string(to_string(other)));
    }
  }
  return choice;
}

}  // namespace

std::vector<Choice> with_other_integers(const Choice& choice) {
  std::vector<int> drawn;
  for (const auto& [slot, type] : choice.variables) {
    if (type.dtype == kDrawn) drawn.push_back(slot);
  }
  std::vector<Choice> others;
  if (drawn.empty()) return others;
  for (const DType other : kOthers) {
    others.push_back(with_all(choice, other));
    if (drawn.size() == 1) continue;
    for (const int slot : drawn) others.emplace_back(choice).variables.at(slot).dtype = other;
  }
  return others;
}

}  // namespace egret::rules

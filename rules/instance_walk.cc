// SPDX-License-Identifier: Apache-2.0
#include "rules/instance_walk.h"

#include <algorithm>
#include <set>

namespace egret::rules {
namespace {

std::vector<Choice> neighbours(const Choice& choice) {
  std::vector<Choice> result;
  std::set<std::int64_t> sizes{1};
  for (const auto& [slot, type] : choice.variables) {
    for (const ir::Index& dim : type.dims) sizes.insert(dim.constant());
  }
  for (const auto& [slot, type] : choice.variables) {
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
      const std::int64_t old = type.dims[axis].constant();
      std::set<std::int64_t> others = sizes;
      others.insert(old + 1);
      others.erase(old);
      for (const std::int64_t other : others) {
        result.push_back(choice);
        result.back().variables.at(slot).dims[axis] = other;
      }
    }
  }
  for (const std::int64_t old : sizes) {
    for (const std::int64_t other : {std::int64_t{1}, old + 1}) {
      result.push_back(choice);
      for (auto& [slot, type] : result.back().variables) {
        for (ir::Index& dim : type.dims) {
          if (dim.constant() == old) dim = other;
        }
      }
    }
  }
  for (const auto& [term, attrs] : choice.attrs) {
    for (const auto& [name, value] : attrs.entries()) {
      const auto* integer = std::get_if<std::int64_t>(&value);
      const auto* list = std::get_if<ir::Integers>(&value);
      const std::size_t count = list != nullptr ? list->size() : (integer != nullptr ? 1 : 0);
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t old = list != nullptr ? (*list)[i] : *integer;
        for (const std::int64_t other : std::set<std::int64_t>{0, 1, old - 1, old + 1}) {
          if (other == old || other < 0) continue;
          ir::Integers changed = list != nullptr ? *list : ir::Integers{};
          if (list != nullptr) changed[i] = other;
          result.push_back(choice);
          result.back().attrs.at(term).set(
              name, list != nullptr ? ir::AttrValue(changed) : ir::AttrValue(other));
        }
      }
    }
  }
  return result;
}

}  // namespace

std::optional<Instance> InstanceWalk::step(base::Random random) {
  constexpr std::int64_t kMostSize = 8;
  std::vector<Choice> next = neighbours(at_);
  if (next.empty()) return std::nullopt;
  Choice& choice = next[random.below(next.size())];
  for (const auto& [slot, type] : choice.variables) {
    const auto large = [](const ir::Index& dim) { return dim.constant() > kMostSize; };
    if (std::ranges::any_of(type.dims, large)) return std::nullopt;
  }
  auto instance = instantiator_.of(choice, random.split(1));
  if (instance) at_ = std::move(choice);
  return instance;
}

}  // namespace egret::rules

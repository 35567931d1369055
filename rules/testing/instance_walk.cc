// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instance_walk.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace egret::rules {
namespace {

// A change of one number of a choice: a size, all sizes equal to a number, or an attribute.
struct Change {
  std::int64_t to;
  int tensor = -1;
  std::optional<std::int64_t> every{};
  const Term* term = nullptr;
  std::string_view attribute{};
  std::size_t place = 0;  // the axis, or where in a list
};

void add_sizes(const Choice& choice, std::vector<Change>& changes) {
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
      for (const std::int64_t other : others)
        changes.push_back({.to = other, .tensor = slot, .place = axis});
    }
  }
  for (const std::int64_t old : sizes) {
    for (const std::int64_t other : {std::int64_t{1}, old + 1})
      changes.push_back({.to = other, .every = old});
  }
}

void add_attributes(const Choice& choice, std::span<const Term* const> applications,
                    std::vector<Change>& changes) {
  for (const Term* term : applications) {
    for (const auto& [name, value] : choice.attrs.at(term).entries()) {
      const auto* integer = std::get_if<std::int64_t>(&value);
      const auto* list = std::get_if<ir::Integers>(&value);
      const std::size_t count = list != nullptr ? list->size() : (integer != nullptr ? 1 : 0);
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t old = list != nullptr ? (*list)[i] : *integer;
        for (const std::int64_t other : std::set<std::int64_t>{0, 1, old - 1, old + 1}) {
          if (other != old && other >= 0)
            changes.push_back({.to = other, .term = term, .attribute = name, .place = i});
        }
      }
    }
  }
}

// Updates attributes that are sizes, because the operator has no operands.
void change_sizes_of(const Term& term, std::int64_t from, std::int64_t to, ir::Attrs& attrs) {
  if (!term.arguments.empty()) return;
  const ir::Attrs before = attrs;
  for (const auto& [name, value] : before.entries()) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer != nullptr && *integer == from) attrs.set(name, to);
  }
}

void apply(const Change& change, Choice& choice) {
  if (change.term != nullptr) {
    ir::Attrs& attrs = choice.attrs.at(change.term);
    ir::AttrValue value = *attrs.find(change.attribute);
    if (auto* list = std::get_if<ir::Integers>(&value)) {
      (*list)[change.place] = change.to;
    } else {
      value = change.to;
    }
    attrs.set(std::string(change.attribute), std::move(value));
  } else if (change.every) {
    for (auto& [slot, type] : choice.variables) {
      for (ir::Index& dim : type.dims) {
        if (dim.constant() == *change.every) dim = change.to;
      }
    }
    for (auto& [term, attrs] : choice.attrs)
      change_sizes_of(*term, *change.every, change.to, attrs);
  } else {
    choice.variables.at(change.tensor).dims[change.place] = change.to;
  }
}

}  // namespace

// One step of a random walk: a single change of the current choice. A step to an instance that the
// rule does not accept is not taken.
std::optional<Instance> InstanceWalk::step(base::Random random) {
  constexpr std::int64_t kMostSize = 8;
  std::vector<Change> changes;
  add_sizes(at_, changes);
  add_attributes(at_, applications_, changes);
  Choice choice = at_;
  apply(changes[random.below(changes.size())], choice);
  for (const auto& [slot, type] : choice.variables) {
    const auto large = [](const ir::Index& dim) { return dim.constant() > kMostSize; };
    if (std::ranges::any_of(type.dims, large)) return std::nullopt;
  }
  auto instance = instantiator_.of(choice, random.split(1));
  if (instance) at_ = std::move(choice);
  return instance;
}

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
#include "rules/instance_walk.h"

#include <algorithm>
#include <functional>
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

// The options of one part of a choice, and how to take one.
struct Part {
  std::uint64_t options;
  std::function<void(Choice&, std::uint64_t)> take;
};

std::vector<Part> parts_of(const Choice& like) {
  static const std::vector<ir::Dims> kShapes{{}, {1}, {2}, {1, 1}, {1, 2}, {2, 1}, {2, 2}};
  std::vector<Part> parts;
  for (const auto& [slot, type] : like.variables) {
    parts.push_back({kShapes.size(), [slot = slot](Choice& choice, std::uint64_t i) {
                       choice.variables.at(slot).dims = kShapes[i];
                     }});
  }
  for (const auto& [term, attrs] : like.attrs) {
    for (const auto& [name, value] : attrs.entries()) {
      const auto* integer = std::get_if<std::int64_t>(&value);
      if (integer == nullptr) continue;
      std::vector<std::int64_t> numbers{0, 1};
      if (*integer < 0 || *integer > 1) numbers.push_back(*integer);
      parts.push_back(
          {numbers.size(), [term = term, name = name, numbers](Choice& choice, std::uint64_t i) {
             choice.attrs.at(term).set(name, numbers[i]);
           }});
    }
  }
  return parts;
}

}  // namespace

std::vector<Choice> small_choices(const Choice& like, std::size_t most, base::Random random) {
  const std::vector<Part> parts = parts_of(like);
  std::uint64_t all = 1;
  for (const Part& part : parts) all = std::min<std::uint64_t>(all * part.options, 1ULL << 32);
  std::vector<Choice> result;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(all, most); ++i) {
    std::uint64_t number = all <= most ? i : random.split(i).below(all);
    Choice& choice = result.emplace_back(like);
    for (const Part& part : parts) {
      part.take(choice, number % part.options);
      number /= part.options;
    }
  }
  return result;
}

std::vector<Choice> deep_choices(const Choice& like, std::size_t count, base::Random random) {
  constexpr std::uint64_t kLeastRank = 3;
  constexpr std::uint64_t kRanks = 2;
  std::vector<Choice> result;
  for (std::size_t i = 0; i < count; ++i) {
    base::Random own = random.split(i);
    Choice& choice = result.emplace_back(like);
    const std::uint64_t rank = kLeastRank + own.below(kRanks);
    std::vector<ir::Dims> shapes;
    for (auto& [slot, type] : choice.variables) {
      if (!shapes.empty() && own.below(2) == 0) {
        type.dims = shapes[own.below(shapes.size())];
        continue;
      }
      type.dims.clear();
      for (std::uint64_t axis = 0; axis < rank; ++axis)
        type.dims.push_back(static_cast<std::int64_t>(1 + own.below(2)));
      shapes.push_back(type.dims);
    }
    for (auto& [term, attrs] : choice.attrs) {
      for (const auto& [name, value] : like.attrs.at(term).entries()) {
        if (std::holds_alternative<std::int64_t>(value) && own.below(2) == 0)
          attrs.set(name, static_cast<std::int64_t>(own.below(rank)));
      }
    }
  }
  return result;
}

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

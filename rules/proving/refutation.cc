// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/refutation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/stop.h"
#include "rules/proving/member_search.h"
#include "rules/testing/counterexample.h"
#include "rules/testing/guard_solver.h"
#include "rules/testing/instance_walk.h"

namespace egret::rules {
namespace {

constexpr std::int64_t kMostRun = std::int64_t{1} << 22;  // elements of a tensor that is run

// Whether the tensors of an instance fit in memory.
bool may_run(const Instance& instance) {
  const auto fits = [](const ir::Graph& graph) {
    return std::ranges::all_of(graph.nodes(), [](const ir::Node& node) {
      const auto elements = ir::element_count(node.type.shape());
      return elements && *elements <= kMostRun;
    });
  };
  return fits(instance.left) && fits(instance.right);
}

}  // namespace

Refutation::Refutation(const Rule& rule, Instantiator& instantiator, KnownOperators& known,
                       std::uint64_t seed, bool tensors)
    : rule_(rule),
      instantiator_(instantiator),
      known_(known),
      around_(base::hash_combine(seed, content_hash(rule).low)),
      tensors_(tensors) {}

Comparison Refutation::compare(const Instance& instance, const base::Random& random) const {
  return rules::compare(rule_, instance, random, known_);
}

Counterexample Refutation::shrunk(const Instance& instance, const Comparison& found,
                                  const base::Random& random) const {
  Comparison smallest = rules::shrunk(instance, found, instantiator_, random, known_, kMostRun);
  return {std::move(smallest.counterexample), std::move(smallest.difference)};
}

std::optional<Counterexample> Refutation::on(const Instance& instance,
                                             const base::Random& random) const {
  if (!may_run(instance)) return std::nullopt;
  const Comparison comparison = compare(instance, random);
  if (comparison.outcome != Comparison::Outcome::kDifferent) return std::nullopt;
  return shrunk(instance, comparison, random);
}

std::optional<Counterexample> Refutation::around(const Instance& instance,
                                                 const Family& family) const {
  constexpr std::uint64_t kDraws = 20;
  constexpr std::uint64_t kSteps = 300;
  if (!tensors_ || !may_run(instance)) return std::nullopt;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    if (auto found = on(instance, around_.split(draw))) return found;
  }
  InstanceWalk walk(instantiator_, instance.choice);
  for (std::uint64_t i = 0; i < kSteps && !base::stop_requested(); ++i) {
    const base::Random own = around_.split(kDraws + i);
    const auto next = walk.step(own);
    if (!next) continue;
    if (auto found = on(*next, own.split(1))) return found;
  }
  return on_members(instance, family, around_.split(kDraws + kSteps));
}

// Random instances have small sizes and steps, for which results often agree by chance: two
// different strides may give equally many windows of four elements but not of seven.
std::optional<Counterexample> Refutation::on_members(const Instance& instance, const Family& family,
                                                     const base::Random& random) const {
  constexpr std::uint64_t kMembers = 200;
  constexpr std::int64_t kBound = 7;
  const MemberSearch search(family);
  for (std::uint64_t i = 0; i < kMembers && !base::stop_requested(); ++i) {
    const base::Random own = random.split(i);
    const auto numbers = search.draw_up_to(kBound, own);
    if (!numbers) continue;
    if (auto found = on_member(instance, *numbers, own)) return found;
  }
  return near_example(instance, family, random.split(kMembers));
}

// Members near the family's example, some of whose numbers may have to be large. On the example
// itself both sides may agree by chance: axes of size 1, windows that see only padding.
std::optional<Counterexample> Refutation::near_example(const Instance& instance,
                                                       const Family& family,
                                                       const base::Random& random) const {
  constexpr std::uint64_t kMembers = 100;
  constexpr std::int64_t kMostChanges = 4;
  constexpr std::int64_t kFarthest = 3;
  if (family.example.empty()) return std::nullopt;
  for (std::uint64_t i = 0; i < kMembers && !base::stop_requested(); ++i) {
    base::Random own = random.split(i);
    ir::SymbolValues numbers = family.example;
    for (std::int64_t left = own.between(1, kMostChanges); left > 0; --left) {
      const auto place = static_cast<std::ptrdiff_t>(own.below(numbers.size()));
      std::next(numbers.begin(), place)->second += own.between(1, kFarthest);
    }
    const auto fitting = solve_near(family.conditions, std::move(numbers), own.split(1));
    if (!fitting) continue;
    if (auto found = on_member(instance, *fitting, own.split(2))) return found;
  }
  return std::nullopt;
}

std::optional<Counterexample> Refutation::on_member(const Instance& like,
                                                    const ir::SymbolValues& numbers,
                                                    const base::Random& random) const {
  const auto member =
      instantiator_.of(with_integers(rule_, like.choice, numbers), random.split(1), kMostRun);
  return member ? on(*member, random.split(2)) : std::nullopt;
}

}  // namespace egret::rules

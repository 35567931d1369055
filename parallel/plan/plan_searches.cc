// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/plan_searches.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <set>

#include "base/random.h"
#include "base/timer.h"
#include "extract/core/extractor.h"

namespace egret::parallel {
namespace {

using Index = PlanSpace::Index;
using Choice = std::vector<Index>;

// The temperature of the random walk, relative to the start's cost; and the tolerance of
// best-first.
constexpr double kTemperature = 0.01;
constexpr double kTolerance = 1.05;
constexpr std::size_t kMostValues = 200;  // of an exhaustive search, which recurses

// Branch and bound. Consumers are chosen before producers, so the price of a choice is exact when
// it is made.
class Exhaustive {
 public:
  Exhaustive(const PlanSpace& space, const SearchLimits& limits) : space_(space), limits_(limits) {}

  FoundPlan run() {
    best_ = space_.cost(space_.copies());
    if (space_.values() > kMostValues) return {"exhaustive", best_, 0, watch_.seconds(), false};
    State start;
    for (const Index root : space_.roots()) start.wanted[space_.value_of(root)].push_back(root);
    if (!find_order()) return {"exhaustive", best_, 0, watch_.seconds(), false};
    descend(start, 0);
    return {"exhaustive", best_, steps_, watch_.seconds(), !gave_up_};
  }

 private:
  struct State {
    std::map<std::size_t, std::vector<Index>> wanted;  // by value
  };

  // Assigns each value a position before all values that its choices may request. False if choices
  // form a cycle, which has no such order: depths then exceed the number of values.
  bool find_order() {
    std::vector<int> depth(space_.values(), 0);
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t value = 0; value < space_.values(); ++value) {
        for (const Index choice : space_.choices(value)) {
          for (const Index child : space_.step(value, choice, {}).wanted) {
            int& other = depth[space_.value_of(child)];
            if (other > depth[value]) continue;
            other = depth[value] + 1;
            if (other > static_cast<int>(space_.values())) return false;
            changed = true;
          }
        }
      }
    }
    place_ = depth;
    return true;
  }

  // Chooses for the value whose consumers have all chosen. A branch ends where its cost reaches the
  // best plan's: further choices only add cost.
  void descend(State& state, double so_far) {
    if (gave_up_) return;
    if (++steps_ > limits_.steps || (steps_ % 4096 == 0 && watch_.seconds() > limits_.seconds)) {
      gave_up_ = true;
      return;
    }
    if (state.wanted.empty()) {
      best_ = std::min(best_, so_far);
      return;
    }
    const auto next = std::ranges::min_element(
        state.wanted, {}, [&](const auto& entry) { return place_[entry.first]; });
    const std::size_t value = next->first;
    const std::vector<Index> wanted = next->second;
    const std::span<const Index> choices = space_.choices(value);
    static constexpr Index kLeaf = PlanSpace::kNone;
    for (const Index choice : choices.empty() ? std::span(&kLeaf, 1) : choices) {
      const PlanSpace::Step step = space_.step(value, choice, wanted);
      if (so_far + step.cost >= best_) continue;
      State after = state;
      after.wanted.erase(value);
      for (const Index child : step.wanted) after.wanted[space_.value_of(child)].push_back(child);
      descend(after, so_far + step.cost);
    }
  }

  const PlanSpace& space_;
  const SearchLimits& limits_;
  base::Stopwatch watch_;
  std::vector<int> place_;  // by value
  double best_ = 0;
  std::int64_t steps_ = 0;
  bool gave_up_ = false;
};

// Each value's cheapest placement by itself: shared values are paid once per reader while choosing.
FoundPlan chain(const egraph::EGraphView& view, std::span<const double> costs) {
  const base::Stopwatch watch;
  const extract::ExtractorRow* tree = extract::find_extractor("tree-greedy");
  const auto found = tree->extract({view, costs}, {});
  const double cost = found.ok() ? found->dag_cost : std::numeric_limits<double>::infinity();
  return {"chain", cost, 1, watch.seconds(), true};
}

// Values with more than one choice.
std::vector<std::size_t> free_values(const PlanSpace& space) {
  std::vector<std::size_t> values;
  for (std::size_t value = 0; value < space.values(); ++value) {
    if (space.choices(value).size() > 1) values.push_back(value);
  }
  return values;
}

// A random walk over plans, as in FlexFlow (Jia et al., 2019): each step changes the choice of one
// value.
FoundPlan mcmc(const PlanSpace& space, const SearchLimits& limits) {
  const base::Stopwatch watch;
  base::Random random(limits.seed);
  const std::vector<std::size_t> free = free_values(space);
  Choice choice = space.copies();
  double now = space.cost(choice);
  double best = now;
  const double temperature = kTemperature * now;
  std::int64_t plans = 1;
  while (!free.empty() && plans < limits.plans && watch.seconds() < limits.seconds) {
    const std::size_t value = free[random.below(free.size())];
    const auto choices = space.choices(value);
    const Index before = choice[value];
    // The proposal is symmetric: any choice of the value is equally likely, so the acceptance rule
    // needs no correction.
    choice[value] = choices[random.below(choices.size())];
    const double cost = space.cost(choice);
    ++plans;
    // Metropolis: accept improvements always, worsenings with probability exp(-difference /
    // temperature).
    if (random.unit() < std::exp((now - cost) / temperature)) {
      now = cost;
      best = std::min(best, now);
    } else {
      choice[value] = before;
    }
  }
  return {"mcmc", best, plans, watch.seconds(), plans >= limits.plans || free.empty()};
}

// Best-first search as in Unity (Unger et al., 2022): plans that cost up to kTolerance times the
// best are expanded, by changing one value's choice.
FoundPlan best_first(const PlanSpace& space, const SearchLimits& limits) {
  const base::Stopwatch watch;
  const std::vector<std::size_t> free = free_values(space);
  using Entry = std::pair<double, Choice>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::set<Choice> seen;
  Choice start = space.copies();
  double best = space.cost(start);
  std::int64_t plans = 1;
  queue.push({best, start});
  seen.insert(std::move(start));
  const auto is_within = [&] { return plans < limits.plans && watch.seconds() < limits.seconds; };
  while (!queue.empty() && is_within()) {
    const auto [cost, choice] = queue.top();
    queue.pop();
    if (cost > kTolerance * best) break;
    for (const std::size_t value : free) {
      for (const Index other : space.choices(value)) {
        if (other == choice[value] || !is_within()) continue;
        Choice changed = choice;
        changed[value] = other;
        const double changed_cost = space.cost(changed);
        ++plans;
        best = std::min(best, changed_cost);
        if (changed_cost > kTolerance * best || !seen.insert(changed).second) continue;
        queue.push({changed_cost, std::move(changed)});
      }
    }
  }
  return {"best-first", best, plans, watch.seconds(), is_within()};
}

}  // namespace

std::vector<FoundPlan> run_plan_searches(const PlanSpace& space, const egraph::EGraphView& view,
                                         std::span<const double> costs,
                                         const SearchLimits& limits) {
  return {Exhaustive(space, limits).run(), chain(view, costs), mcmc(space, limits),
          best_first(space, limits)};
}

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/plan_searches.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <queue>
#include <set>

#include "base/random.h"
#include "base/stop.h"
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

bool is_over(const SearchLimits& limits, const base::Stopwatch& watch) {
  return watch.seconds() >= limits.seconds || base::stop_requested();
}

// Branch and bound. Consumers are chosen before producers, so the price of a choice is exact when
// it is made.
class Exhaustive {
 public:
  Exhaustive(const PlanSpace& space, const SearchLimits& limits) : space_(space), limits_(limits) {}

  FoundPlan run() {
    current_ = best_choice_ = space_.copies();
    best_ = space_.cost(best_choice_);
    gave_up_ = space_.values() > kMostValues || !find_order();
    State start;
    for (const Index root : space_.roots()) start.wanted[space_.value_of(root)].push_back(root);
    descend(start, 0);
    return {"exhaustive", best_, steps_, watch_.seconds(), !gave_up_, space_.nodes(best_choice_)};
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
    if (++steps_ > limits_.steps || (steps_ % 4096 == 0 && is_over(limits_, watch_))) {
      gave_up_ = true;
      return;
    }
    if (state.wanted.empty()) {
      if (so_far < best_) best_choice_ = current_;
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
      current_[value] = choice;
      descend(after, so_far + step.cost);
    }
  }

  const PlanSpace& space_;
  const SearchLimits& limits_;
  base::Stopwatch watch_;
  std::vector<int> place_;  // by value
  Choice current_;          // by value; of those on the way down
  Choice best_choice_;
  double best_ = 0;
  std::int64_t steps_ = 0;
  bool gave_up_ = false;
};

// Each value's cheapest placement by itself: shared values are paid once per reader while choosing.
FoundPlan chain(const PlanSpace&, const egraph::EGraphView& view, std::span<const double> costs,
                const SearchLimits&) {
  const base::Stopwatch watch;
  const extract::ExtractorRow* tree = extract::find_extractor("tree-greedy");
  auto found = tree->extract({view, costs}, {});
  if (!found.ok())
    return {"chain", std::numeric_limits<double>::infinity(), 1, watch.seconds(), true};
  return {"chain", found->dag_cost, 1, watch.seconds(), true, std::move(found->choice)};
}

FoundPlan exhaustive(const PlanSpace& space, const egraph::EGraphView&, std::span<const double>,
                     const SearchLimits& limits) {
  return Exhaustive(space, limits).run();
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
FoundPlan mcmc(const PlanSpace& space, const egraph::EGraphView&, std::span<const double>,
               const SearchLimits& limits) {
  const base::Stopwatch watch;
  base::Random random(limits.seed);
  const std::vector<std::size_t> free = free_values(space);
  Choice choice = space.copies();
  Choice best_choice = choice;
  double now = space.cost(choice);
  double best = now;
  const double temperature = kTemperature * now;
  std::int64_t plans = 1;
  while (!free.empty() && plans < limits.plans && !is_over(limits, watch)) {
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
      if (now < best) best_choice = choice;
      best = std::min(best, now);
    } else {
      choice[value] = before;
    }
  }
  return {"mcmc",
          best,
          plans,
          watch.seconds(),
          plans >= limits.plans || free.empty(),
          space.nodes(best_choice)};
}

// Best-first search as in Unity (Unger et al., 2022): plans that cost up to kTolerance times the
// best are expanded, by changing one value's choice.
FoundPlan best_first(const PlanSpace& space, const egraph::EGraphView&, std::span<const double>,
                     const SearchLimits& limits) {
  const base::Stopwatch watch;
  const std::vector<std::size_t> free = free_values(space);
  using Entry = std::pair<double, Choice>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::set<Choice> seen;
  Choice start = space.copies();
  Choice best_choice = start;
  double best = space.cost(start);
  std::int64_t plans = 1;
  queue.push({best, start});
  seen.insert(std::move(start));
  const auto is_within = [&] { return plans < limits.plans && !is_over(limits, watch); };
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
        if (changed_cost < best) best_choice = changed;
        best = std::min(best, changed_cost);
        if (changed_cost > kTolerance * best || !seen.insert(changed).second) continue;
        queue.push({changed_cost, std::move(changed)});
      }
    }
  }
  return {"best-first", best, plans, watch.seconds(), is_within(), space.nodes(best_choice)};
}

constexpr std::array kSearches{PlanSearchRow{"exhaustive", exhaustive},
                               PlanSearchRow{"chain", chain}, PlanSearchRow{"mcmc", mcmc},
                               PlanSearchRow{"best-first", best_first}};

}  // namespace

std::span<const PlanSearchRow> plan_searches() { return kSearches; }

std::vector<FoundPlan> run_plan_searches(const PlanSpace& space, const egraph::EGraphView& view,
                                         std::span<const double> costs,
                                         const SearchLimits& limits) {
  std::vector<FoundPlan> found;
  for (const PlanSearchRow& search : kSearches)
    found.push_back(search.run(space, view, costs, limits));
  return found;
}

}  // namespace egret::parallel

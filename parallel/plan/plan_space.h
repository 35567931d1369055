// SPDX-License-Identifier: Apache-2.0
// The plan space of searches that change one operator at a time (parallel/plan/plan_searches.h): an
// implementation for each operator of the program, and the cheapest collectives between producers
// and consumers.
//
// Costs are those of extraction: a choice is paid once, however often it is used. Collectives of
// one value follow a tree of shortest paths. Two requests may share a beginning, but the search
// does not optimize for it.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "egraph/core/view.h"
#include "parallel/placed/placed_egraph.h"

namespace egret::parallel {

class PlanSpace {
 public:
  using Index = egraph::EGraphView::Index;
  static constexpr Index kNone = ~Index{0};

  // An infinite cost forbids a node. The roots are placed values (not those of a training step).
  // Arguments outlive this.
  PlanSpace(const PlacedEGraph& placed, const egraph::EGraphView& view,
            std::span<const double> costs);

  // Values of the sequential program, by number. Computed values have choices: nodes of the view,
  // each an operator on parts under some placement.
  std::size_t values() const { return values_.size(); }
  std::span<const Index> choices(std::size_t value) const { return values_[value].choices; }
  std::size_t value_of(Index view_class) const { return value_of_[view_class]; }
  // The plan with everything on every device, as far as it exists: the start of searches.
  std::vector<Index> copies() const;

  // Seconds of the plan with these choices; infinite where it is not a plan.
  double cost(std::span<const Index> choice) const;
  // The plan's node of each class of the view; kNone for classes that it does not need. Empty where
  // it is not a plan.
  std::vector<Index> nodes(std::span<const Index> choice) const;

  // The consequence of choosing a node for a value whose classes `wanted` are requested: its price
  // including collectives, and the classes that it requests.
  struct Step {
    double cost = 0;
    std::vector<Index> wanted{};
  };
  Step step(std::size_t value, Index choice, std::span<const Index> wanted) const;
  const std::vector<Index>& roots() const { return view_.roots; }

 private:
  struct Value {
    std::vector<Index> classes{};
    std::vector<Index> choices{};
    bool is_leaf = false;
  };
  // The collective on the cheapest path to each class of a value; kNone at its start.
  using Ways = std::map<Index, Index>;
  Ways ways_from(const Value& value, std::span<const Index> sources) const;
  const Ways& ways_of(std::size_t value, Index choice) const;
  Index place_of(Index view_class) const;
  // Calls EACH(value, wanted) for the values of the plan, consumers first, with the classes that
  // are requested of it, until it returns an infinite cost. Returns the sum of costs; infinite
  // where it is not a plan.
  template <typename Each>
  double visit(std::span<const Index> choice, const Each& each) const;

  const PlacedEGraph& placed_;
  const egraph::EGraphView& view_;
  const std::span<const double> costs_;
  std::vector<Value> values_;
  std::vector<std::size_t> value_of_;  // by class
  std::map<Index, Ways> ways_;  // by the class that is produced; of leaves by the first class
};

}  // namespace egret::parallel

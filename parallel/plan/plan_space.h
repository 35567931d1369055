// SPDX-License-Identifier: Apache-2.0
// The plans of a placed e-graph as others see them: for each operator of the program one way to
// distribute it, and between what is produced and what is wanted the cheapest collectives. For
// searches that change one operator at a time (parallel/plan/plan_searches.h).
//
// Costs are those of extraction: what is chosen is paid once, however often it is used. Collectives
// of one value follow a tree of shortest paths, so two wishes may share a beginning but do not look
// for one.
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

  // Infinite costs forbid. The roots are placed values (not those of a training step). Arguments
  // outlive this.
  PlanSpace(const PlacedEGraph& placed, const egraph::EGraphView& view,
            std::span<const double> costs);

  // Values of the sequential program, by number. Those that operators compute have choices: nodes
  // of the view, each an operator on parts under some placement.
  std::size_t values() const { return values_.size(); }
  std::span<const Index> choices(std::size_t value) const { return values_[value].choices; }
  std::size_t value_of(Index view_class) const { return value_of_[view_class]; }
  // What everything on every device is, as far as there is such a choice: where searches begin.
  std::vector<Index> copies() const;

  // Seconds of the plan with a choice for each value that has any; infinite where it is none.
  double cost(std::span<const Index> choice) const;

  // What follows from choosing a node for a value of which these classes are wanted: its price with
  // the collectives', and the classes that it wants of others.
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
  // The collective by which the cheapest way reaches each class of a value, kNone where it begins.
  using Ways = std::map<Index, Index>;
  Ways ways_from(const Value& value, std::span<const Index> sources) const;

  const PlacedEGraph& placed_;
  const egraph::EGraphView& view_;
  const std::span<const double> costs_;
  std::vector<Value> values_;
  std::vector<std::size_t> value_of_;  // by class
  std::map<Index, Ways> ways_;  // by the class that is produced; of leaves by the first class
};

}  // namespace egret::parallel

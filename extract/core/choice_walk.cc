// SPDX-License-Identifier: Apache-2.0
#include "extract/core/choice_walk.h"

namespace egret::extract {

// Depth-first search from the roots in postorder. A class has three states: not met (below epoch_),
// on the path (epoch_), finished (epoch_ + 1). A need that is on the path closes a cycle.
const ChoiceWalk& ChoiceWalker::walk(std::span<const NodeIndex> choice) {
  // States are epoch numbers, so no array needs to be cleared between walks.
  epoch_ += 2;
  result_.outcome = ChoiceWalk::Outcome::kComplete;
  result_.order.clear();
  result_.dag_cost = 0;
  path_.clear();
  const auto stop = [&](ChoiceWalk::Outcome outcome, ClassIndex culprit) -> const ChoiceWalk& {
    result_.outcome = outcome;
    result_.culprit = culprit;
    return result_;
  };
  for (const ClassIndex root : problem_.graph.roots) {
    if (state_[root] == epoch_ + 1) continue;
    path_.push_back({root, 0});
    state_[root] = epoch_;
    while (!path_.empty()) {
      Frame& frame = path_.back();
      const NodeIndex node = choice[frame.c];
      if (node == kNoNode) return stop(ChoiceWalk::Outcome::kMissing, frame.c);
      const auto children = problem_.graph.children_of(node);
      if (frame.next_child == children.size()) {
        state_[frame.c] = epoch_ + 1;
        result_.order.push_back(frame.c);
        result_.dag_cost += problem_.costs[node];
        path_.pop_back();
        continue;
      }
      const ClassIndex child = children[frame.next_child++];
      if (state_[child] == epoch_) return stop(ChoiceWalk::Outcome::kCyclic, child);
      if (state_[child] == epoch_ + 1) continue;
      state_[child] = epoch_;
      path_.push_back({child, 0});
    }
  }
  return result_;
}

ChoiceWalk walk_choice(const Problem& problem, std::span<const NodeIndex> choice) {
  return ChoiceWalker(problem).walk(choice);
}

}  // namespace egret::extract

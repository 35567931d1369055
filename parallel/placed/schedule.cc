// SPDX-License-Identifier: Apache-2.0
#include "parallel/placed/schedule.h"

#include <algorithm>
#include <limits>

namespace egret::parallel {

using egraph::ClassId;

// Without recursion.
std::vector<ClassId> operands_first(const rules::TensorEGraph& tensors,
                                    const rules::Selection& program) {
  std::vector<ClassId> order;
  std::vector<char> state(tensors.egraph().id_count(), 0);  // 1: on the stack, 2: in the order
  std::vector<ClassId> stack = tensors.roots();
  while (!stack.empty()) {
    const ClassId id = tensors.egraph().find(stack.back());
    if (state[id.index()] != 0) {
      stack.pop_back();
      if (state[id.index()] == 1) order.push_back(id);
      state[id.index()] = 2;
      continue;
    }
    state[id.index()] = 1;
    for (const ClassId child : tensors.egraph().children(program.node_of[id.index()])) {
      if (state[tensors.egraph().find(child).index()] == 0) stack.push_back(child);
    }
  }
  return order;
}

// Levels stand for time in the constraints on memory. They must not depend on the choice of
// e-nodes, so all members of a class share one lifetime.
Schedule::Schedule(const rules::TensorEGraph& tensors)
    : tensors_(tensors),
      original_(tensors.original()),
      lifetimes_(tensors.egraph().id_count()),
      known_(tensors.egraph().id_count(), false) {
  set_levels_of_program();
  set_levels_of_rewritten();
  set_last_uses();
}

// As late as possible: a value is computed one level before its first use, which keeps lifetimes
// short. An unused value is computed as soon as possible. The first pass finds the earliest levels
// and their number. The second pass, from readers to operands, moves each value up to the level
// before its first use.
void Schedule::set_levels_of_program() {
  constexpr int kUnused = std::numeric_limits<int>::max();
  const std::vector<ClassId> order = operands_first(tensors_, original_);
  std::vector<int> soonest(lifetimes_.size(), 0);
  std::vector<int> first_use(lifetimes_.size(), kUnused);
  const auto children = [&](ClassId id) {
    return tensors_.egraph().children(original_.node_of[id.index()]);
  };
  for (const ClassId id : order) {
    for (const ClassId child : children(id)) {
      const int after = soonest[tensors_.egraph().find(child).index()] + 1;
      soonest[id.index()] = std::max(soonest[id.index()], after);
    }
    levels_ = std::max(levels_, soonest[id.index()] + 1);
  }
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const std::size_t at = id->index();
    lifetimes_[at].from = first_use[at] == kUnused ? soonest[at] : std::max(first_use[at] - 1, 0);
    known_[at] = true;
    for (const ClassId child : children(*id)) {
      int& use = first_use[tensors_.egraph().find(child).index()];
      use = std::min(use, lifetimes_[at].from);
    }
  }
}

// Classes that rules added get the level of a class that uses them, to a fixed point.
void Schedule::set_levels_of_rewritten() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const ClassId id : tensors_.egraph().classes()) {
      if (!known_[id.index()]) continue;
      for (const egraph::NodeId node : tensors_.egraph().nodes(id)) {
        for (const ClassId child : tensors_.egraph().children(node)) {
          const std::size_t at = tensors_.egraph().find(child).index();
          if (known_[at]) continue;
          lifetimes_[at].from = lifetimes_[id.index()].from;
          known_[at] = changed = true;
        }
      }
    }
  }
}

// A class lives until the last level at which some e-node might read it: an upper bound over all
// plans.
void Schedule::set_last_uses() {
  for (Lifetime& one : lifetimes_) one.to = one.from;
  for (const ClassId id : tensors_.egraph().classes()) {
    for (const egraph::NodeId node : tensors_.egraph().nodes(id)) {
      for (const ClassId child : tensors_.egraph().children(node)) {
        int& to = lifetimes_[tensors_.egraph().find(child).index()].to;
        to = std::max(to, lifetimes_[id.index()].from);
      }
    }
  }
}

}  // namespace egret::parallel

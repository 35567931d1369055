// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/join_plan.h"

#include <algorithm>

namespace egret::egraph {

JoinPlanner::JoinPlanner(const Pattern& pattern)
    : pattern_(pattern), by_leaf_(pattern.var_count()) {
  for (std::uint32_t i = 0; i < pattern.atoms().size(); ++i) {
    if (!is_leaf(i)) continue;
    leaves_.push_back(i);
    by_leaf_[pattern.atoms()[i].result.index()] = true;
  }
}

bool JoinPlanner::is_leaf(std::uint32_t atom) const {
  return pattern_.atoms()[atom].op.valid() && pattern_.atoms()[atom].children.empty();
}

// A walk may start at any atom. An atom next to a constant offers two more starts: the nodes of the
// constant's class and the parents of that class. The search compares the sizes of these lists at
// run time (start_lists.h), because they depend on the e-graph.
std::vector<JoinPlan> JoinPlanner::full_plans() const {
  const auto atoms = pattern_.atoms();
  std::vector<JoinPlan> plans;
  const auto add = [&](Kind kind, std::uint32_t atom, VarId via) {
    const JoinStep first{kind, atom, via, false};
    plans.push_back(make_plan(&first));
  };
  for (std::uint32_t i = 0; i < atoms.size(); ++i) {
    if (is_leaf(i)) continue;
    if (by_leaf_[atoms[i].result.index()]) add(Kind::kClass, i, atoms[i].result);
    for (const VarId child : atoms[i].children) {
      if (by_leaf_[child.index()]) add(Kind::kParents, i, child);
    }
    add(Kind::kOperator, i, {});
  }
  if (plans.empty()) plans.push_back(make_plan(nullptr));
  return plans;
}

// Plan i starts from the new nodes of atom i and admits only old nodes at the atoms after i. The
// atoms before i admit both. A match whose last new atom is k thus satisfies plan k alone: an
// earlier plan demands an old node at atom k, and a later plan starts from a new one beyond k. This
// is the usual split of the difference of a join: one term per relation, linear in their number,
// and not one per subset of new relations.
std::vector<JoinPlan> JoinPlanner::incremental_plans() const {
  std::vector<JoinPlan> plans;
  for (std::uint32_t i = 0; i < pattern_.atoms().size(); ++i) {
    if (is_leaf(i)) continue;
    const JoinStep first{Kind::kOperator, i, {}, false};
    plans.push_back(make_plan(&first));
    // Each match is found once: by the plan of its last new atom.
    for (JoinStep& step : plans.back()) step.old = step.atom > i;
  }
  if (plans.empty()) plans.push_back(make_plan(nullptr));
  // A free variable ranges over all classes, so a new class makes new matches although no atom has
  // a new node. Only a pattern of one free variable can start from the new classes.
  const bool has_free = std::any_of(plans[0].begin(), plans[0].end(), [](const JoinStep& step) {
    return step.kind == Kind::kEveryClass;
  });
  const bool one_free = has_free && plans.size() == 1 && plans[0].size() == 1;
  if (plans[0].empty() || (has_free && !one_free)) plans.clear();
  return plans;
}

// Completes a plan greedily. The leaves are bound already, and the first step may be given. Each
// further step takes the narrowest kind that a remaining atom permits. Kinds are declared from
// narrow to wide, so a smaller enumerator is narrower. Unbound variables come last.
JoinPlan JoinPlanner::make_plan(const JoinStep* first) const {
  const auto atoms = pattern_.atoms();
  std::vector<bool> bound = by_leaf_;
  std::vector<bool> done(atoms.size());
  for (const std::uint32_t leaf : leaves_) done[leaf] = true;
  JoinPlan plan;
  const auto take = [&](const JoinStep& step) {
    plan.push_back(step);
    done[step.atom] = true;
    bound[atoms[step.atom].result.index()] = true;
    for (const VarId child : atoms[step.atom].children) bound[child.index()] = true;
  };
  if (first != nullptr) take(*first);
  // For k atoms this takes O(k^2) offers, once per rule and start. Patterns are small, so no heap
  // pays. The order is a heuristic: an optimal order would need the sizes of the lists, which the
  // planner does not know. The choice among starts makes up for it.
  // Each round completes one atom, since narrowest() can always offer an operator's list.
  while (std::find(done.begin(), done.end(), false) != done.end()) take(narrowest(done, bound));
  for (std::size_t var = 0; var < bound.size(); ++var) {
    if (!bound[var]) plan.push_back({Kind::kEveryClass, 0, VarId(var), false});
  }
  return plan;
}

// The comparison is strict, so among equal kinds the first atom in the pattern's order wins. Plans
// of patterns with equal beginnings thus agree on their first steps and share them in the trie.
JoinStep JoinPlanner::narrowest(const std::vector<bool>& done,
                                const std::vector<bool>& bound) const {
  const auto atoms = pattern_.atoms();
  const auto is_bound = [&](VarId var) { return bound[var.index()]; };
  JoinStep best{Kind::kEveryClass, 0, {}, false};
  const auto offer = [&](Kind kind, std::uint32_t atom, VarId via) {
    if (kind < best.kind) best = {kind, atom, via, false};
  };
  for (std::uint32_t i = 0; i < atoms.size(); ++i) {
    if (done[i]) continue;
    const auto& children = atoms[i].children;
    if (atoms[i].op.valid() && std::all_of(children.begin(), children.end(), is_bound)) {
      offer(Kind::kLookup, i, {});
    }
    if (is_bound(atoms[i].result)) offer(Kind::kClass, i, atoms[i].result);
    // Constants have many parents, so a node is reached through another bound child if there is
    // one.
    auto child = std::find_if(children.begin(), children.end(),
                              [&](VarId var) { return is_bound(var) && !by_leaf_[var.index()]; });
    if (child == children.end()) child = std::find_if(children.begin(), children.end(), is_bound);
    if (child != children.end()) offer(Kind::kParents, i, *child);
    offer(Kind::kOperator, i, {});
  }
  return best;
}

}  // namespace egret::egraph

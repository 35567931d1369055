// SPDX-License-Identifier: Apache-2.0
// The half of Matcher that is done once per pattern: in which order to visit the atoms.
#include <algorithm>

#include "base/check.h"
#include "egraph/matcher.h"

namespace egret::egraph {

Matcher::Matcher(const Pattern& pattern, const OpTable& ops) : pattern_(pattern) {
  const auto atoms = pattern_.atoms();
  needs_.resize(pattern_.var_count(), 0);
  accepts_.resize(atoms.size());
  candidates_.resize(atoms.size());
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const Pattern::Atom& atom = atoms[i];
    EGRET_CHECK(!atom.op.valid() || ops.arity(atom.op) == atom.children.size(),
                "a pattern node with the wrong number of children");
    const BaseId base = atom.op.valid() ? ops.base_of(atom.op) : atom.base;
    needs_[atom.result.index()] |= EGraph::mask_bit(base);
    if (is_leaf(static_cast<std::uint32_t>(i))) leaves_.push_back(static_cast<std::uint32_t>(i));
  }
  classes_.resize(pattern_.var_count());
  captured_.resize(pattern_.op_var_count());
  make_starts();
}

bool Matcher::is_leaf(std::uint32_t atom) const {
  return pattern_.atoms()[atom].op.valid() && pattern_.atoms()[atom].children.empty();
}

void Matcher::make_starts() {
  const auto atoms = pattern_.atoms();
  std::vector<bool> bound_by_leaf(pattern_.var_count());
  for (const std::uint32_t leaf : leaves_) bound_by_leaf[atoms[leaf].result.index()] = true;
  const auto add = [&](Step::Kind kind, std::uint32_t atom, VarId via) {
    starts_.push_back({kind, atom, via, make_plan(kind, atom, via)});
  };
  for (std::uint32_t i = 0; i < atoms.size(); ++i) {
    if (is_leaf(i)) continue;
    if (bound_by_leaf[atoms[i].result.index()]) add(Step::Kind::kClass, i, atoms[i].result);
    for (const VarId child : atoms[i].children) {
      if (bound_by_leaf[child.index()]) add(Step::Kind::kParents, i, child);
    }
    add(Step::Kind::kOperator, i, {});
  }
  if (starts_.empty()) add(Step::Kind::kEveryClass, 0, {});
}

// Leaves are bound already. The first step is given; then always the narrowest kind that some
// remaining atom permits.
Matcher::Plan Matcher::make_plan(Step::Kind kind, std::uint32_t first, VarId via) const {
  using Kind = Step::Kind;
  const auto atoms = pattern_.atoms();
  std::vector<bool> bound(pattern_.var_count());
  std::vector<bool> by_leaf(pattern_.var_count());
  std::vector<bool> captured(pattern_.op_var_count());
  std::vector<bool> done(atoms.size());
  for (const std::uint32_t leaf : leaves_) {
    bound[atoms[leaf].result.index()] = by_leaf[atoms[leaf].result.index()] = done[leaf] = true;
  }
  const auto is_bound = [&](VarId var) { return bound[var.index()]; };

  Plan plan;
  if (kind != Kind::kEveryClass) {
    add_step(plan, {kind, first, via, {}, false, false}, bound, captured);
    done[first] = true;
  }
  while (std::find(done.begin(), done.end(), false) != done.end()) {
    Step best{Kind::kEveryClass, 0, {}, {}, false, false};
    const auto offer = [&](Kind offered, std::uint32_t atom, VarId by) {
      if (offered < best.kind) best = {offered, atom, by, {}, false, false};
    };
    for (std::uint32_t i = 0; i < atoms.size(); ++i) {
      if (done[i]) continue;
      const auto& children = atoms[i].children;
      if (atoms[i].op.valid() && std::all_of(children.begin(), children.end(), is_bound)) {
        offer(Kind::kLookup, i, {});
      }
      if (is_bound(atoms[i].result)) offer(Kind::kClass, i, atoms[i].result);
      // Constants have many parents: reach a node through another child where there is one.
      auto child = std::find_if(children.begin(), children.end(),
                                [&](VarId var) { return is_bound(var) && !by_leaf[var.index()]; });
      if (child == children.end()) child = std::find_if(children.begin(), children.end(), is_bound);
      if (child != children.end()) offer(Kind::kParents, i, *child);
      offer(Kind::kOperator, i, {});
    }
    done[best.atom] = true;
    add_step(plan, best, bound, captured);
  }
  for (std::size_t var = 0; var < bound.size(); ++var) {
    if (!bound[var]) plan.push_back({Kind::kEveryClass, 0, VarId(var), {}, false, false});
  }
  return plan;
}

// Completes a step with what is bound and what is to be checked, and appends it.
void Matcher::add_step(Plan& plan, Step step, std::vector<bool>& bound,
                       std::vector<bool>& captured) const {
  const Pattern::Atom& atom = pattern_.atoms()[step.atom];
  // The class is settled before the children, as accept() does it.
  step.result_bound = bound[atom.result.index()];
  bound[atom.result.index()] = true;
  for (std::uint32_t place = 0; place < atom.children.size(); ++place) {
    const VarId child = atom.children[place];
    step.binds.push_back({place, child, bound[child.index()]});
    bound[child.index()] = true;
  }
  if (atom.capture.valid()) {
    step.capture_bound = captured[atom.capture.index()];
    captured[atom.capture.index()] = true;
  }
  plan.push_back(std::move(step));
}

}  // namespace egret::egraph

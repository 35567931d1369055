// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/goals.h"

#include <algorithm>

#include "base/check.h"

namespace egret::egraph {
namespace {

// The state of one atom in the backtracking: the next node to try, and the variables that its
// present node bound.
struct Frame {
  std::size_t next = 0;
  std::vector<VarId> bound;
};

// Extends the assignment by one node. On failure some variables may be bound already; the caller
// undoes them before the next try.
bool unify(const EGraph& egraph, const Pattern::Atom& atom, NodeId node,
           std::vector<ClassId>& classes, Frame& frame) {
  if (egraph.op(node) != atom.op) return false;
  const auto children = egraph.children(node);
  for (std::size_t i = 0; i < children.size(); ++i) {
    ClassId& value = classes[atom.children[i].index()];
    if (!value.valid()) {
      value = egraph.find(children[i]);
      frame.bound.push_back(atom.children[i]);
    } else if (value != egraph.find(children[i])) {
      return false;
    }
  }
  return true;
}

void undo(Frame& frame, std::vector<ClassId>& classes) {
  for (const VarId var : frame.bound) classes[var.index()] = {};
  frame.bound.clear();
}

}  // namespace

bool matches_in_class(const EGraph& egraph, const Pattern& pattern, ClassId id) {
  EGRET_CHECK(egraph.clean(), "search before rebuild()");
  EGRET_CHECK(pattern.op_var_count() == 0, "operator variables need a search of the whole e-graph");
  const auto atoms = pattern.atoms();
  if (atoms.empty()) return true;  // a variable: any class
  std::vector<ClassId> classes(pattern.var_count());
  classes[atoms.back().result.index()] = egraph.find(id);
  // Backtracking with an explicit stack: frame d tries the nodes for the d-th atom from the end.
  // Atoms are stored children before parents. In reverse order, each atom finds its class bound.
  std::vector<Frame> frames(atoms.size());
  std::size_t depth = 0;
  while (depth < atoms.size()) {
    const Pattern::Atom& atom = atoms[atoms.size() - 1 - depth];
    const auto nodes = egraph.nodes(classes[atom.result.index()]);
    Frame& frame = frames[depth];
    bool fits = false;
    while (!fits && frame.next < nodes.size()) {
      undo(frame, classes);
      fits = unify(egraph, atom, nodes[frame.next++], classes, frame);
    }
    if (fits) {
      ++depth;
      continue;
    }
    undo(frame, classes);
    frame.next = 0;
    if (depth-- == 0) return false;
  }
  return true;
}

base::Result<Goals> Goals::parse(const Syntax& syntax, std::span<const std::string_view> texts) {
  Goals goals;
  for (const std::string_view text : texts) {
    EGRET_ASSIGN_OR_RETURN(Pattern pattern, syntax.pattern(text));
    goals.goals_.push_back({std::string(text), std::move(pattern)});
  }
  return goals;
}

bool Goals::reached(const EGraph& egraph, ClassId id) {
  for (Goal& goal : goals_) {
    if (!goal.found) goal.found = matches_in_class(egraph, goal.pattern, id);
  }
  return found() == size();
}

std::size_t Goals::found() const {
  return static_cast<std::size_t>(
      std::count_if(goals_.begin(), goals_.end(), [](const Goal& goal) { return goal.found; }));
}

std::vector<std::string> Goals::missing() const {
  std::vector<std::string> result;
  for (const Goal& goal : goals_) {
    if (!goal.found) result.push_back(goal.text);
  }
  return result;
}

}  // namespace egret::egraph

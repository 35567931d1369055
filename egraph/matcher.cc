// SPDX-License-Identifier: Apache-2.0
// The half of Matcher that runs at each search: choose a plan, then backtrack through it.
#include "egraph/matcher.h"

#include <algorithm>

#include "base/check.h"
#include "base/small_vector.h"

namespace egret::egraph {

SearchEnd Matcher::search(const EGraph& egraph, std::uint64_t max_matches, Budget& budget,
                          MatchBuffer& out) {
  EGRET_CHECK(egraph.clean(), "search before rebuild()");
  learn_symbols(egraph.ops());
  if (!bind_leaves(egraph)) return SearchEnd::kComplete;
  const Plan& plan = choose_plan(egraph);
  if (plan.empty()) {
    out.push(classes_, captured_);
    return SearchEnd::kComplete;
  }
  cursors_.resize(plan.size());

  constexpr std::uint64_t kSpendEvery = 1024;
  std::uint64_t ticks = 0;
  std::uint64_t found = 0;
  std::size_t depth = 0;
  open(egraph, plan[0], cursors_[0]);
  while (true) {
    if (ticks >= kSpendEvery) {
      if (!budget.spend(ticks)) return SearchEnd::kExhausted;
      ticks = 0;
    }
    if (!advance(egraph, plan[depth], cursors_[depth], ticks)) {
      if (depth == 0) break;
      --depth;
    } else if (depth + 1 < plan.size()) {
      ++depth;
      open(egraph, plan[depth], cursors_[depth]);
    } else {
      out.push(classes_, captured_);
      if (++found > max_matches) return SearchEnd::kCapped;
    }
  }
  return budget.spend(ticks) ? SearchEnd::kComplete : SearchEnd::kExhausted;
}

// Asks the predicates about operators that were interned since the last search.
void Matcher::learn_symbols(const OpTable& ops) {
  if (known_ops_ == ops.op_count()) return;
  const auto atoms = pattern_.atoms();
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    const Pattern::Atom& atom = atoms[i];
    if (atom.op.valid()) continue;
    accepts_[i].resize(ops.op_count());
    const auto all = ops.ops_of(atom.base);
    const auto fresh = std::lower_bound(all.begin(), all.end(), OpId(known_ops_));
    for (auto op = fresh; op != all.end(); ++op) {
      if (ops.arity(*op) != atom.children.size() || !pattern_.allowed(atom.capture, *op)) continue;
      accepts_[i][op->index()] = true;
      candidates_[i].push_back(*op);
    }
  }
  known_ops_ = ops.op_count();
}

// False when some constant of the pattern is not in the e-graph at all.
bool Matcher::bind_leaves(const EGraph& egraph) {
  const auto atoms = pattern_.atoms();
  for (const std::uint32_t leaf : leaves_) classes_[atoms[leaf].result.index()] = {};
  for (const std::uint32_t leaf : leaves_) {
    const NodeId node = egraph.lookup_node(atoms[leaf].op, {});
    if (!node.valid() || !egraph.visible(node)) return false;
    const ClassId id = egraph.class_of(node);
    const VarId var = atoms[leaf].result;
    ClassId& bound = classes_[var.index()];
    if (bound.valid() && bound != id) return false;
    if ((egraph.mask(id) & needs_[var.index()]) != needs_[var.index()]) return false;
    bound = id;
  }
  return true;
}

std::uint64_t Matcher::operator_count(const EGraph& egraph, std::uint32_t atom) const {
  if (const OpId op = pattern_.atoms()[atom].op; op.valid()) return egraph.nodes_with(op).size();
  std::uint64_t count = 0;
  for (const OpId op : candidates_[atom]) count += egraph.nodes_with(op).size();
  return count;
}

// Lists that must be filtered (parents) or climbed from (inner atoms) cost more for each item.
const Matcher::Plan& Matcher::choose_plan(const EGraph& egraph) const {
  const auto atoms = pattern_.atoms();
  const auto is_inner = [&](VarId result) {
    return std::any_of(atoms.begin(), atoms.end(), [&](const Pattern::Atom& atom) {
      return std::find(atom.children.begin(), atom.children.end(), result) != atom.children.end();
    });
  };
  const Start* best = nullptr;
  std::uint64_t best_cost = 0;
  for (const Start& start : starts_) {
    std::uint64_t cost = 0;
    switch (start.kind) {
      case Step::Kind::kParents:
        cost = 2 * egraph.parents(classes_[start.via.index()]).size();
        break;
      case Step::Kind::kClass: cost = egraph.nodes(classes_[start.via.index()]).size(); break;
      case Step::Kind::kOperator:
        cost = operator_count(egraph, start.atom) * (is_inner(atoms[start.atom].result) ? 4 : 1);
        break;
      case Step::Kind::kLookup:
      case Step::Kind::kEveryClass: break;
    }
    if (best == nullptr || cost < best_cost) best = &start, best_cost = cost;
  }
  return best->plan;
}

void Matcher::open(const EGraph& egraph, const Step& step, Cursor& cursor) const {
  const auto over = [&cursor](std::span<const NodeId> list) {
    cursor.next = list.data();
    cursor.end = list.data() + list.size();
  };
  over({});
  cursor.index = 0;
  if (step.kind == Step::Kind::kEveryClass) return;
  const Pattern::Atom& atom = pattern_.atoms()[step.atom];
  switch (step.kind) {
    case Step::Kind::kLookup: {
      base::SmallVector<ClassId, 8> children;
      for (const VarId child : atom.children) children.push_back(classes_[child.index()]);
      cursor.found = egraph.lookup_node(atom.op, children);
      if (cursor.found.valid()) over({&cursor.found, 1});
      break;
    }
    case Step::Kind::kClass: {
      auto list = egraph.nodes(classes_[step.via.index()]);
      constexpr std::size_t kLinear = 8;
      if (atom.op.valid() && list.size() > kLinear) {  // sorted by operator
        const auto low = std::partition_point(list.begin(), list.end(),
                                              [&](NodeId n) { return egraph.op(n) < atom.op; });
        const auto high = std::partition_point(low, list.end(),
                                               [&](NodeId n) { return egraph.op(n) == atom.op; });
        list = {low, high};
      }
      over(list);
      break;
    }
    case Step::Kind::kParents: over(egraph.parents(classes_[step.via.index()])); break;
    case Step::Kind::kOperator:
      if (atom.op.valid()) over(egraph.nodes_with(atom.op));
      break;
    case Step::Kind::kEveryClass: break;
  }
}

// Binds the next node (or class) that fits; false when there is none left.
bool Matcher::advance(const EGraph& egraph, const Step& step, Cursor& cursor,
                      std::uint64_t& ticks) {
  if (step.kind == Step::Kind::kEveryClass) {
    ++ticks;
    return next_class(egraph, step.via, cursor);
  }
  do {
    while (cursor.next != cursor.end) {
      ++ticks;
      if (accept(egraph, step, *cursor.next++)) return true;
    }
  } while (refill(egraph, step, cursor));
  return false;
}

// The next list of a step that starts from any operator of a base.
bool Matcher::refill(const EGraph& egraph, const Step& step, Cursor& cursor) const {
  if (step.kind != Step::Kind::kOperator || pattern_.atoms()[step.atom].op.valid()) return false;
  const auto& candidates = candidates_[step.atom];
  if (cursor.index == candidates.size()) return false;
  const auto list = egraph.nodes_with(candidates[cursor.index++]);
  cursor.next = list.data();
  cursor.end = list.data() + list.size();
  return true;
}

bool Matcher::next_class(const EGraph& egraph, VarId var, Cursor& cursor) {
  while (cursor.index < egraph.id_count()) {
    const ClassId id(cursor.index++);
    if (!egraph.is_canonical(id)) continue;
    classes_[var.index()] = id;
    return true;
  }
  return false;
}

bool Matcher::accept(const EGraph& egraph, const Step& step, NodeId node) {
  const Pattern::Atom& atom = pattern_.atoms()[step.atom];
  if (atom.op.valid()) {
    if (!egraph.is(node, atom.op)) return false;
  } else {
    const OpId op = egraph.op(node);
    if (!egraph.visible(node) || !accepts_[step.atom][op.index()]) return false;
    OpId& captured = captured_[atom.capture.index()];
    if (step.capture_bound && captured != op) return false;
    captured = op;
  }
  const auto has_needs = [&](VarId var, ClassId id) {
    const std::uint64_t needs = needs_[var.index()];
    return needs == 0 || (egraph.mask(id) & needs) == needs;
  };
  if (step.kind != Step::Kind::kClass) {  // whose nodes have that class by construction
    const ClassId id = egraph.class_of(node);
    if (step.result_bound) {
      if (classes_[atom.result.index()] != id) return false;
    } else {
      if (!has_needs(atom.result, id)) return false;
      classes_[atom.result.index()] = id;
    }
  }
  const ClassId* children = egraph.children(node).data();
  for (const Bind& bind : step.binds) {
    const ClassId child = children[bind.place];
    ClassId& bound = classes_[bind.var.index()];
    if (bind.check) {
      if (bound != child) return false;
    } else {
      if (!has_needs(bind.var, child)) return false;
      bound = child;
    }
  }
  return true;
}

}  // namespace egret::egraph

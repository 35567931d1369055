// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/rule_form.h"

#include <algorithm>

#include "base/hash.h"

namespace egret::egraph {

RuleForm::Expression RuleForm::of_atom(const Pattern::Atom& atom) {
  Expression made;
  made.kind = atom.op.valid() ? Expression::Kind::kNode : Expression::Kind::kCapturedOp;
  made.op = atom.op;
  made.base = atom.base;
  if (atom.capture.valid()) made.operand = atom.capture.index();
  made.children = atom.children;
  return made;
}

// Splits the variables into expressions and substituted ones. A variable that is the class of
// exactly one atom, and does not occur below itself, becomes the expression of that atom. All
// others are substituted. Atoms are processed in topological order; a cycle is cut at its first
// variable, which becomes substituted. An atom whose class is substituted is a premise.
void RuleForm::define_variables(const Pattern& pattern) {
  const auto atoms = pattern.atoms();
  const std::size_t count = pattern.var_count();
  std::vector<std::size_t> uses(count, 0);
  for (const Pattern::Atom& atom : atoms) ++uses[atom.result.index()];
  std::vector<bool> known(count);
  for (std::size_t var = 0; var < count; ++var) {
    if (uses[var] == 1) continue;
    known[var] = true;
    substituted_.emplace_back(var);
    order_.emplace_back(var);
  }
  // Each round scans all atoms and finds at least one variable or cuts a cycle: O(variables x
  // atoms), for patterns of a few atoms.
  while (order_.size() < count) {
    const std::size_t before = order_.size();
    for (const Pattern::Atom& atom : atoms) {
      const std::size_t var = atom.result.index();
      if (known[var]) continue;
      if (!std::ranges::all_of(atom.children, [&](VarId c) { return known[c.index()]; })) continue;
      known[var] = true;
      expressions_[var] = of_atom(atom);
      order_.emplace_back(var);
    }
    if (order_.size() > before) continue;
    // A cycle: cut it at its first variable.
    const auto cut = std::find(known.begin(), known.end(), false);
    *cut = true;
    substituted_.emplace_back(static_cast<std::size_t>(cut - known.begin()));
    order_.push_back(substituted_.back());
  }
  std::ranges::sort(substituted_);
  for (const Pattern::Atom& atom : atoms) {
    if (expressions_[atom.result.index()].kind == Expression::Kind::kTerm)
      premises_.push_back({atom.result, of_atom(atom)});
  }
}

// Writes an expression, with an explicit stack instead of recursion. `var` is its name if it is a
// substituted variable.
void RuleForm::write(const OpTable& ops, const Expression& root, VarId var,
                     std::string& out) const {
  struct Frame {
    const Expression* expression;
    std::size_t next = 0;
  };
  std::vector<Frame> stack;
  const auto enter = [&](const Expression& e, VarId v) {
    using Kind = Expression::Kind;
    if (e.kind == Kind::kTerm) {
      out += name(v);
      return;
    }
    if (e.kind == Kind::kComputedTerm) {
      out += "!" + computed_term_names_[e.operand];
      return;
    }
    if (!e.children.empty()) out += '(';
    switch (e.kind) {
      case Kind::kNode: out += ops.text(e.op); break;
      case Kind::kCapturedOp:
        out.append(ops.name(e.base)).append("{").append(op_names_[e.operand]).append("}");
        break;
      default: out += "!" + computed_op_names_[e.operand];
    }
    if (!e.children.empty()) stack.push_back({&e});
  };
  enter(root, var);
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < top.expression->children.size()) {
      out += ' ';
      const VarId child = top.expression->children[top.next++];
      enter(expression(child), child);
    } else {
      out += ')';
      stack.pop_back();
    }
  }
}

std::string RuleForm::text(const OpTable& ops) const {
  std::string out;
  for (const auto& [left, right] : equations_) {
    if (!out.empty()) out += ", ";
    write(ops, expression(left), left, out);
  }
  for (const Premise& premise : premises_) {
    out += ", " + name(premise.var) + " = ";
    write(ops, premise.is, {}, out);
  }
  out += " => ";
  bool first = true;
  for (const auto& [left, right] : equations_) {
    if (!first) out += ", ";
    first = false;
    write(ops, expression(right), right, out);
  }
  first = true;
  for (const std::string& condition : conditions_) {
    out += (first ? " if " : " and ") + (condition.empty() ? "!condition" : condition);
    first = false;
  }
  return out;
}

std::string RuleForm::hash(const OpTable& ops) const {
  return base::content_hash(text(ops)).to_hex();
}

}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/nest_algebra.h"

#include <utility>

namespace egret::ir::autodiff {

using Kind = NestGuard::Kind;

VariableSet NestAlgebra::depends_on(const Affine& form) const {
  VariableSet set = 0;
  for (const auto& part : form.parts) set |= nest_.symbol(part.symbol).depends;
  return set;
}

// Nodes are appended, never changed: ids that others hold stay valid. What a node depends on is
// derived from its operands; a reduction's own variables are bound in it.
int NestAlgebra::append(NestNode node) {
  for (const int kid : node.kids) node.depends |= nest_.node(kid).depends;
  if (node.guard >= 0) node.depends |= nest_.guard(node.guard).depends;
  node.depends |= depends_on(node.form);
  for (const Affine& axis : node.axes) node.depends |= depends_on(axis);
  for (const int symbol : node.variables) node.depends &= ~nest_.symbol(symbol).depends;
  nest_.nodes.push_back(std::move(node));
  return static_cast<int>(nest_.nodes.size()) - 1;
}

int NestAlgebra::append(NestGuard guard) {
  nest_.guards.push_back(std::move(guard));
  return static_cast<int>(nest_.guards.size()) - 1;
}

bool NestAlgebra::is_constant(int node, double value) const {
  const NestNode& n = nest_.node(node);
  return n.op == ExprOp::kConst && n.is_real() && n.real == value;
}

int NestAlgebra::constant(double value) {
  NestNode node;
  node.real = value;
  return append(std::move(node));
}

int NestAlgebra::binary(ExprOp op, int a, int b) {
  NestNode node;
  node.op = op;
  node.kids = {a, b};
  return append(std::move(node));
}

int NestAlgebra::add(int a, int b) { return binary(ExprOp::kAdd, a, b); }
int NestAlgebra::sub(int a, int b) { return binary(ExprOp::kSub, a, b); }

// Only multiplication by 1 is simplified: 0 * x is not 0 for infinite x.
int NestAlgebra::mul(int a, int b) {
  if (is_constant(a, 1)) return b;
  if (is_constant(b, 1)) return a;
  return binary(ExprOp::kMul, a, b);
}

int NestAlgebra::div(int a, int b) { return is_constant(b, 1) ? a : binary(ExprOp::kDiv, a, b); }

int NestAlgebra::neg(int a) {
  NestNode node;
  node.op = ExprOp::kNeg;
  node.kids = {a};
  return append(std::move(node));
}

int NestAlgebra::call(Function function, std::initializer_list<int> arguments) {
  NestNode node;
  node.op = ExprOp::kCall;
  node.function = function;
  for (const int argument : arguments) node.kids.push_back(argument);
  return append(std::move(node));
}

int NestAlgebra::select(int guard, int then, int otherwise) {
  NestNode node;
  node.op = ExprOp::kSelect;
  node.guard = guard;
  node.kids = {then, otherwise};
  return append(std::move(node));
}

int NestAlgebra::reduce(Reduction reduction, const std::vector<int>& variables, int guard,
                        int body) {
  NestNode node;
  node.op = ExprOp::kReduce;
  node.reduction = reduction;
  node.variables = variables;
  node.guard = guard;
  node.kids = {body};
  return append(std::move(node));
}

int NestAlgebra::comparison(Kind kind, int a, int b) {
  NestGuard guard;
  guard.kind = kind;
  guard.a = a;
  guard.b = b;
  guard.depends = nest_.node(a).depends | nest_.node(b).depends;
  return append(std::move(guard));
}

int NestAlgebra::less(int a, int b) { return comparison(Kind::kScalarLt, a, b); }
int NestAlgebra::equal(int a, int b) { return comparison(Kind::kScalarEq, a, b); }

int NestAlgebra::equal_indices(int symbol_a, int symbol_b) {
  NestGuard guard;
  guard.kind = Kind::kEq;
  guard.form = Affine::of_symbol(symbol_a) - Affine::of_symbol(symbol_b);
  guard.depends = depends_on(guard.form);
  return append(std::move(guard));
}

int NestAlgebra::both(int a, int b) {
  if (nest_.guard(a).kind == Kind::kTrue) return b;
  if (nest_.guard(b).kind == Kind::kTrue) return a;
  NestGuard guard;
  guard.kind = Kind::kAnd;
  guard.a = a;
  guard.b = b;
  guard.depends = nest_.guard(a).depends | nest_.guard(b).depends;
  return append(std::move(guard));
}

// Over integers, the negation of f <= 0 is 1 - f <= 0: it stays an affine guard.
int NestAlgebra::negated(int a) {
  const NestGuard& of = nest_.guard(a);
  if (of.kind == Kind::kNot) return of.a;
  NestGuard guard;
  guard.depends = of.depends;
  if (of.kind == Kind::kLe) {
    guard.kind = Kind::kLe;
    guard.form = Affine(1) - of.form;
  } else if (of.kind == Kind::kTrue || of.kind == Kind::kFalse) {
    guard.kind = of.kind == Kind::kTrue ? Kind::kFalse : Kind::kTrue;
  } else {
    guard.kind = Kind::kNot;
    guard.a = a;
  }
  return append(std::move(guard));
}

// A new loop variable with the same extent, for a second instance of a reduction.
int NestAlgebra::fresh_like(int symbol) {
  IndexSymbol made = nest_.symbol(symbol);
  made.ordinal = static_cast<int>(nest_.variables.size());
  made.depends = VariableSet{1} << made.ordinal;
  const int id = static_cast<int>(nest_.symbols.size());
  nest_.symbols.push_back(std::move(made));
  nest_.variables.push_back(id);
  return id;
}

VariableSet NestAlgebra::variables_of(const LoopNest& nest, const Renaming& to) {
  VariableSet set = 0;
  for (const auto& [from, other] : to) set |= nest.symbol(from).depends;
  return set;
}

// Copies only the parts that depend on a renamed variable; all else is shared.
int NestAlgebra::renamed_symbol(int symbol, const Renaming& to) {
  const auto found = to.find(symbol);
  if (found != to.end()) return found->second;
  if ((nest_.symbol(symbol).depends & variables_of(nest_, to)) == 0) return symbol;
  IndexSymbol copy = nest_.symbol(symbol);
  copy.a = renamed(copy.a, to);
  copy.b = renamed(copy.b, to);
  // An index read from data depends on its element's variables as well.
  copy.depends = depends_on(copy.a) | depends_on(copy.b);
  if (copy.element >= 0) {
    copy.element = renamed(copy.element, to);
    copy.depends |= nest_.node(copy.element).depends;
  }
  nest_.symbols.push_back(std::move(copy));
  return static_cast<int>(nest_.symbols.size()) - 1;
}

Affine NestAlgebra::renamed(const Affine& form, const Renaming& to) {
  Affine result(form.constant);
  for (const auto& part : form.parts) {
    result = result + Affine::of_symbol(renamed_symbol(part.symbol, to)) * part.factor;
  }
  return result;
}

int NestAlgebra::renamed_guard(int guard, const Renaming& to) {
  if ((nest_.guard(guard).depends & variables_of(nest_, to)) == 0) return guard;
  NestGuard copy = nest_.guard(guard);
  const bool of_guards =
      copy.kind == Kind::kAnd || copy.kind == Kind::kOr || copy.kind == Kind::kNot;
  copy.form = renamed(copy.form, to);
  copy.depends = depends_on(copy.form);
  for (int* kid : {&copy.a, &copy.b}) {
    if (*kid < 0) continue;
    *kid = of_guards ? renamed_guard(*kid, to) : renamed(*kid, to);
    copy.depends |= of_guards ? nest_.guard(*kid).depends : nest_.node(*kid).depends;
  }
  return append(std::move(copy));
}

int NestAlgebra::renamed(int node, const Renaming& to) {
  if ((nest_.node(node).depends & variables_of(nest_, to)) == 0) return node;
  NestNode copy = nest_.node(node);
  copy.depends = 0;
  copy.form = renamed(copy.form, to);
  for (Affine& axis : copy.axes) axis = renamed(axis, to);
  for (int& kid : copy.kids) kid = renamed(kid, to);
  if (copy.guard >= 0) copy.guard = renamed_guard(copy.guard, to);
  return append(std::move(copy));
}

}  // namespace egret::ir::autodiff

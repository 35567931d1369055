// SPDX-License-Identifier: Apache-2.0
// Appends nodes and guards to a loop nest. Derivatives are written with it.
#pragma once

#include <initializer_list>
#include <map>

#include "ir/nest/loop_nest.h"

namespace egret::ir::autodiff {

class NestAlgebra {
 public:
  explicit NestAlgebra(LoopNest& nest) : nest_(nest) {}

  int constant(double value);
  int add(int a, int b);
  int sub(int a, int b);
  int mul(int a, int b);
  int div(int a, int b);
  int neg(int a);
  int call(Function function, std::initializer_list<int> arguments);
  int select(int guard, int then, int otherwise);
  int reduce(Reduction reduction, const std::vector<int>& variables, int guard, int body);

  int less(int a, int b);
  int equal(int a, int b);
  int equal_indices(int symbol_a, int symbol_b);
  int both(int guard_a, int guard_b);
  int negated(int guard);

  bool is_constant(int node, double value) const;
  // The node with some loop variables renamed. Copies only the nodes that depend on them.
  using Renaming = std::map<int, int>;  // symbols
  int renamed(int node, const Renaming& to);
  int renamed_guard(int guard, const Renaming& to);
  // A new loop variable with the extent of `symbol`.
  int fresh_like(int symbol);

 private:
  int append(NestNode node);
  int append(NestGuard guard);
  int comparison(NestGuard::Kind kind, int a, int b);
  int binary(ExprOp op, int a, int b);
  VariableSet depends_on(const Affine& form) const;
  Affine renamed(const Affine& form, const Renaming& to);
  int renamed_symbol(int symbol, const Renaming& to);
  static VariableSet variables_of(const LoopNest& nest, const Renaming& to);

  LoopNest& nest_;
};

}  // namespace egret::ir::autodiff

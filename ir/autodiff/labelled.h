// SPDX-License-Identifier: Apache-2.0
// Tensors whose axes are named by loop variables: the values of expressions over a loop nest.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/graph/builder.h"

namespace egret::ir::autodiff {

// Axis i of `value` ranges over the variable vars[i] (a symbol of the nest). Distinct.
struct Labelled {
  Value value;
  std::vector<int> vars;

  bool has(int var) const;
  bool covers(std::span<const int> others) const;
};

// The same elements with axes in this order.
Labelled permuted(GraphBuilder& b, const Labelled& x, std::span<const int> order);
Labelled in_order(GraphBuilder& b, const Labelled& x);  // ascending
// The value with axes `vars`, a superset of x.vars; missing axes have size 1. Leading ones are left
// out, since operators broadcast.
Value spread(GraphBuilder& b, const Labelled& x, std::span<const int> vars);
// The elementwise operator over the variables of all operands, ascending.
Labelled pointwise(GraphBuilder& b, std::string_view op, std::span<const Labelled> operands);
Labelled pointwise(GraphBuilder& b, std::string_view op, const Labelled& x, const Labelled& y);
// Sums over the variables that `kept` lacks.
Labelled summed(GraphBuilder& b, const Labelled& x, std::span<const int> kept);

bool contains(std::span<const int> list, int element);
// The union of both lists, ascending.
std::vector<int> united(std::span<const int> a, std::span<const int> b);

}  // namespace egret::ir::autodiff

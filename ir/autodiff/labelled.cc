// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/labelled.h"

#include <algorithm>
#include <iterator>

#include "ir/autodiff/tensor_steps.h"

namespace egret::ir::autodiff {

bool contains(std::span<const int> list, int element) {
  return std::ranges::find(list, element) != list.end();
}

std::vector<int> united(std::span<const int> a, std::span<const int> b) {
  std::vector<int> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool Labelled::has(int var) const { return contains(vars, var); }

bool Labelled::covers(std::span<const int> others) const {
  return std::ranges::all_of(others, [&](int var) { return has(var); });
}

Labelled permuted(GraphBuilder& b, const Labelled& x, std::span<const int> order) {
  std::vector<int> perm;
  for (const int var : order) {
    perm.push_back(static_cast<int>(std::ranges::find(x.vars, var) - x.vars.begin()));
  }
  return {transposed(b, x.value, perm), {order.begin(), order.end()}};
}

Labelled in_order(GraphBuilder& b, const Labelled& x) {
  std::vector<int> order = x.vars;
  std::ranges::sort(order);
  return permuted(b, x, order);
}

// The value with an axis of size 1 for each variable that it lacks, so that broadcasting aligns it.
// Leading axes of size 1 are left out: broadcasting adds them.
Value spread(GraphBuilder& b, const Labelled& x, std::span<const int> vars) {
  if (x.vars.empty()) return x.value;
  std::vector<int> order;
  for (const int var : vars) {
    if (x.has(var)) order.push_back(var);
  }
  const Labelled sorted = permuted(b, x, order);
  const Shape own = shape_of(b, sorted.value);
  Shape shape;
  std::size_t next = 0;
  for (const int var : vars) {
    if (x.has(var)) {
      shape.push_back(own[next++]);
    } else if (!shape.empty()) {
      shape.push_back(1);
    }
  }
  return reshaped(b, sorted.value, shape);
}

// Operands are aligned by their variables, so broadcasting pairs the elements that the expression
// pairs.
Labelled pointwise(GraphBuilder& b, std::string_view op, std::span<const Labelled> operands) {
  std::vector<int> vars;
  for (const Labelled& operand : operands) vars = united(vars, operand.vars);
  std::vector<Value> values;
  for (const Labelled& operand : operands) values.push_back(spread(b, operand, vars));
  return {b.add(op, values), vars};
}

Labelled pointwise(GraphBuilder& b, std::string_view op, const Labelled& x, const Labelled& y) {
  const Labelled operands[] = {x, y};
  return pointwise(b, op, operands);
}

// The sum over all variables but the kept ones.
Labelled summed(GraphBuilder& b, const Labelled& x, std::span<const int> kept) {
  std::vector<int> axes;
  std::vector<int> left;
  for (std::size_t i = 0; i < x.vars.size(); ++i) {
    if (contains(kept, x.vars[i])) {
      left.push_back(x.vars[i]);
    } else {
      axes.push_back(static_cast<int>(i));
    }
  }
  return {reduced(b, "reduce_sum", x.value, axes), left};
}

}  // namespace egret::ir::autodiff

// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/sum_of_products.h"

#include <utility>

#include "ir/autodiff/product_emission.h"

namespace egret::ir::autodiff {

// A promoted quotient may turn out to have no value in the graph. The sum is then emitted without
// promotion, which always succeeds.
Value emit(Emitter& emitter, SumOfProducts sum) {
  if (const auto made = ProductEmission(emitter, sum).run(true)) return *made;
  const auto made = ProductEmission(emitter, sum).run(false);
  EGRET_CHECK(made.has_value(), "a sum of products that cannot be written");
  return *made;
}

// Takes a product apart into factors and divisors, so that each can be read in its own way. The
// root of the nest is not taken apart: its value is already there.
void add_factor(Emitter& e, SumOfProducts& sum, int id, bool divides) {
  const NestNode node = e.nest().node(id);
  if (node.op == ExprOp::kConst && node.is_real()) {
    sum.coefficient = divides ? sum.coefficient / node.real : sum.coefficient * node.real;
    return;
  }
  if (node.op == ExprOp::kNeg) {
    sum.coefficient = -sum.coefficient;
    return add_factor(e, sum, node.kids[0], divides);
  }
  if ((node.op == ExprOp::kMul || node.op == ExprOp::kDiv) && id != e.nest().root) {
    add_factor(e, sum, node.kids[0], divides);
    add_factor(e, sum, node.kids[1], node.op == ExprOp::kDiv ? !divides : divides);
    return;
  }
  std::vector<Factor>& list = divides ? sum.divisors : sum.factors;
  if (node.op == ExprOp::kRead) {
    list.push_back({e.input(node), node.axes});
    return;
  }
  // A function of one element, read where only an index expression says: applied to all elements
  // before they are read.
  int read = -1;
  bool plain = true;
  if (node.op != ExprOp::kReduce) {
    const Value whole = e.of_whole_input(id, read);
    if (whole.valid()) {
      const std::vector<Affine> axes = e.nest().node(read).axes;
      for (const Affine& axis : axes) plain = plain && axis.parts.size() <= 1;
      if (!plain) {
        list.push_back({whole, axes});
        return;
      }
    }
  }
  const Labelled made = e.node(id);
  Factor factor{made.value, {}};
  for (const int var : made.vars) factor.axes.push_back(Affine::of_symbol(var));
  list.push_back(std::move(factor));
}

}  // namespace egret::ir::autodiff

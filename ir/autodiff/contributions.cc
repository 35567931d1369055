// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/contributions.h"

#include <map>
#include <utility>

#include "ir/autodiff/function_derivatives.h"
#include "ir/autodiff/nest_algebra.h"

namespace egret::ir::autodiff {
namespace {

// Reverse-mode differentiation of one expression. Terms flow from the root down to the reads; each
// is a product of factors, divisors and guards, summed over the reductions that it has entered.
class Sweep {
 public:
  Sweep(LoopNest& nest, const std::vector<bool>& wanted)
      : nest_(nest), algebra_(nest), leads_to_wanted_(nest.nodes.size(), false) {
    // Kids come before their users, so one ascending pass suffices.
    for (std::size_t i = 0; i < nest.nodes.size(); ++i) {
      const NestNode& node = nest.nodes[i];
      if (!node.is_real()) continue;
      if (node.op == ExprOp::kRead) {
        leads_to_wanted_[i] = wanted[static_cast<std::size_t>(node.input)];
      }
      for (const int kid : node.kids) {
        if (leads_to_wanted_[static_cast<std::size_t>(kid)]) leads_to_wanted_[i] = true;
      }
    }
  }

  std::vector<Contribution> run() {
    give(nest_.root, {});
    // Operands have smaller ids than their users: when the sweep reaches a node, all its terms are
    // known. Nodes that the sweep adds have larger ids and are never visited.
    for (int id = nest_.root; id >= 0; --id) {
      const auto found = pending_.find(id);
      if (found == pending_.end()) continue;
      std::vector<Contribution> terms = std::move(found->second);
      pending_.erase(found);
      join_pointwise(terms);
      for (Contribution& term : terms) {
        if (nest_.node(id).op == ExprOp::kRead) {
          term.read = id;
          results_.push_back(std::move(term));
        } else {
          descend(id, term);
        }
      }
    }
    return std::move(results_);
  }

 private:
  // Terms for nodes that reach no wanted read are dropped here.
  void give(int node, Contribution term) {
    if (leads_to_wanted_[static_cast<std::size_t>(node)]) {
      pending_[node].push_back(std::move(term));
    }
  }

  // Merges terms outside of all reductions into one. Without it their number grows with the number
  // of paths through the expression.
  void join_pointwise(std::vector<Contribution>& terms) {
    Contribution joint;
    int sum = -1;
    int count = 0;
    for (const Contribution& term : terms) {
      if (!term.scope.empty()) return;
      const int value = as_node(term);
      sum = sum < 0 ? value : algebra_.add(sum, value);
      ++count;
    }
    if (count < 2) return;
    joint.factors = {sum};
    terms = {joint};
  }

  // The term as an expression of the nest; only possible outside of reductions.
  int as_node(const Contribution& term) {
    int value = algebra_.constant(term.coefficient);
    for (const int factor : term.factors) value = algebra_.mul(value, factor);
    for (const int divisor : term.divisors) value = algebra_.div(value, divisor);
    for (const int guard : term.guards) value = algebra_.select(guard, value, algebra_.constant(0));
    return value;
  }

  static Contribution with_guard(Contribution term, int guard) {
    term.guards.push_back(guard);
    return term;
  }
  static Contribution times(Contribution term, int factor) {
    term.factors.push_back(factor);
    return term;
  }
  static Contribution over(Contribution term, int divisor) {
    term.divisors.push_back(divisor);
    return term;
  }
  static Contribution negative(Contribution term) {
    term.coefficient = -term.coefficient;
    return term;
  }

  // Passes a term on to the node's operands by the chain rule. Copies the node: the nest grows.
  void descend(int id, const Contribution& term) {
    const NestNode node = nest_.node(id);
    const auto kid = [&](std::size_t i) { return node.kids[i]; };
    switch (node.op) {
      case ExprOp::kAdd:
        give(kid(0), term);
        give(kid(1), term);
        break;
      case ExprOp::kSub:
        give(kid(0), term);
        give(kid(1), negative(term));
        break;
      case ExprOp::kNeg: give(kid(0), negative(term)); break;
      case ExprOp::kMul:
        give(kid(0), times(term, kid(1)));
        give(kid(1), times(term, kid(0)));
        break;
      case ExprOp::kDiv:
        give(kid(0), over(term, kid(1)));
        // d(a/b)/db = -(a/b)/b: reuses the quotient itself.
        give(kid(1), over(times(negative(term), id), kid(1)));
        break;
      case ExprOp::kMax:
      case ExprOp::kMin: {
        const bool is_max = node.op == ExprOp::kMax;
        // A strict comparison: at a tie the second argument takes the gradient.
        const int first = is_max ? algebra_.less(kid(1), kid(0)) : algebra_.less(kid(0), kid(1));
        give(kid(0), with_guard(term, first));
        give(kid(1), with_guard(term, algebra_.negated(first)));
        break;
      }
      case ExprOp::kSelect:
        give(kid(0), with_guard(term, node.guard));
        give(kid(1), with_guard(term, algebra_.negated(node.guard)));
        break;
      case ExprOp::kCast:
        // A cast to integers is constant almost everywhere.
        if (is_float(node.cast)) give(kid(0), term);
        break;
      case ExprOp::kCall:
        for (std::size_t i = 0; i < node.kids.size(); ++i) {
          if (!leads_to_wanted_[static_cast<std::size_t>(kid(i))]) continue;
          // No slope: the function is piecewise constant (floor, round).
          const auto slope = derivative(algebra_, nest_, id, static_cast<int>(i));
          if (slope) give(kid(i), times(term, *slope));
        }
        break;
      case ExprOp::kReduce: descend_into_reduction(id, node, term); break;
      default: break;
    }
  }

  void descend_into_reduction(int id, const NestNode& node, Contribution term) {
    const int body = node.kids[0];
    term.scope.insert(term.scope.end(), node.variables.begin(), node.variables.end());
    term.guards.push_back(node.guard);
    switch (node.reduction) {
      case Reduction::kSum: break;
      case Reduction::kMax:
      case Reduction::kMin: {
        // Elements equal to the extremum share the gradient equally: divide by their number.
        const int hit = algebra_.equal(body, id);
        const int hits = algebra_.reduce(Reduction::kSum, node.variables,
                                         algebra_.both(node.guard, hit), algebra_.constant(1));
        term = over(with_guard(std::move(term), hit), hits);
        break;
      }
      case Reduction::kProd: term.factors.push_back(product_of_others(node)); break;
    }
    give(body, std::move(term));
  }

  // The product over all other elements. Unlike the whole product divided by this element, it is
  // correct where elements are 0.
  int product_of_others(const NestNode& node) {
    // Pairs of elements (i, j): the product over all j != i of the body at j, with fresh variables
    // for j.
    NestAlgebra::Renaming other;
    for (const int variable : node.variables) other[variable] = algebra_.fresh_like(variable);
    std::vector<int> variables;
    int same = -1;
    for (const auto& [from, to] : other) {
      variables.push_back(to);
      const int equal = algebra_.equal_indices(from, to);
      same = same < 0 ? equal : algebra_.both(same, equal);
    }
    const int guard = algebra_.renamed_guard(node.guard, other);
    const int body = algebra_.renamed(node.kids[0], other);
    return algebra_.reduce(Reduction::kProd, variables, guard,
                           algebra_.select(same, algebra_.constant(1), body));
  }

  LoopNest& nest_;
  NestAlgebra algebra_;
  std::vector<bool> leads_to_wanted_;
  std::map<int, std::vector<Contribution>> pending_;
  std::vector<Contribution> results_;
};

}  // namespace

std::vector<Contribution> contributions(LoopNest& nest, const std::vector<bool>& wanted) {
  return Sweep(nest, wanted).run();
}

}  // namespace egret::ir::autodiff

// SPDX-License-Identifier: Apache-2.0
// The part of Equality that uses the order of reals.
#include <algorithm>

#include "verifier/algebra/factor_laws.h"
#include "verifier/equality/equality.h"

namespace egret::verifier {
namespace {

using Kind = Factor::Kind;

bool is_extremum(const Factor& factor) {
  return factor.kind == Kind::kMaximum || factor.kind == Kind::kMinimum;
}
// An extremum that contains no other one, in a place without bound variables. The recursion depth
// is bounded by that of the operators' definitions.
const Factor* innermost_extremum(const Sum& sum) {
  for (const Term& term : sum.terms) {
    if (!is_plain(term)) continue;
    for (const Factor& factor : term.factors) {
      if (factor.kind == Kind::kReduce) continue;
      for (const Sum& argument : factor.arguments) {
        if (const Factor* inner = innermost_extremum(argument)) return inner;
      }
      if (is_extremum(factor)) return &factor;
    }
  }
  return nullptr;
}

bool is_of_integers(const Factor& factor) {
  using ir::Function;
  const bool of_bits =
      factor.kind == Kind::kCall &&
      (factor.function == Function::kBitAnd || factor.function == Function::kBitOr ||
       factor.function == Function::kBitXor || factor.function == Function::kShiftRight);
  return of_bits || factor.kind == Kind::kQuotient || factor.kind == Kind::kCast;
}

// An element of a signed integer type, of unknown sign, inside a function of integers; in a place
// without bound variables.
const Factor* signed_element(const Sum& sum, bool is_inside) {
  for (const Term& term : sum.terms) {
    if (!is_plain(term)) continue;
    for (const Factor& factor : term.factors) {
      if (factor.kind == Kind::kReduce) continue;
      if (is_inside && factor.kind == Kind::kRead && ir::is_signed_integer(factor.dtype) &&
          factor.sign == ir::Sign::kUnknown)
        return &factor;
      for (const Sum& argument : factor.arguments) {
        if (const Factor* found = signed_element(argument, is_inside || is_of_integers(factor)))
          return found;
      }
    }
  }
  return nullptr;
}

// Replaces a factor wherever it occurs outside binders, and applies the laws again.
Sum replaced(AtomTable& atoms, const Sum& sum, const Factor& what, const Sum& by) {
  Sum result;
  for (const Term& term : sum.terms) {
    Term rest = term;
    rest.factors.clear();
    Sum value{{std::move(rest)}};
    for (const Factor& factor : term.factors) {
      if (compare(factor, what) == 0) {
        value = product(value, renamed(atoms, by));
        continue;
      }
      Factor changed = factor;
      changed.arguments = mapped(factor.arguments, [&](const Sum& argument) {
        return replaced(atoms, argument, what, by);
      });
      value = product(value, factor.kind == Kind::kReduce ? factor_sum(std::move(changed))
                                                          : lawful(atoms, std::move(changed)));
    }
    result = std::move(result) + lawful(atoms, value);
  }
  return result;
}

// The indices that stand as numbers outside of binders.
void collect_indices(const Sum& sum, std::vector<AtomId>& atoms) {
  for (const Term& term : sum.terms) {
    if (!is_plain(term)) continue;
    for (const Factor& factor : term.factors) {
      if (factor.kind == Kind::kReduce) continue;
      if (factor.kind == Kind::kIndex) atoms.push_back(factor.indices[0].as_atom());
      for (const Sum& argument : factor.arguments) collect_indices(argument, atoms);
    }
  }
}

bool is_over(const Polynomial& polynomial, const std::vector<AtomId>& atoms) {
  return std::ranges::all_of(polynomial.terms(), [&](const auto& term) {
    return std::ranges::all_of(
        term.first, [&](AtomId atom) { return std::ranges::find(atoms, atom) != atoms.end(); });
  });
}

}  // namespace

// What is assumed of reals, and the facts about indices that stand as numbers in the values.
std::vector<RealOrder> Equality::known_orders(const Sum& a, const Sum& b, const Facts& facts) {
  std::vector<RealOrder> known = orders_;
  std::vector<AtomId> indices;
  collect_indices(a, indices);
  collect_indices(b, indices);
  if (indices.empty()) return known;
  const Sum zero;
  for (const Literal& fact : facts) {
    if (fact.relation == Literal::Relation::kNonZero || !is_over(fact.polynomial, indices))
      continue;
    const Sum value =
        lawful(atoms_, Factor{.kind = Kind::kIndex, .indices = {fact.polynomial}, .arguments = {}});
    known.push_back({zero, value, false});
    if (fact.relation == Literal::Relation::kZero) known.push_back({value, zero, false});
  }
  return known;
}

bool Equality::equal_as_reals(const Sum& a, const Sum& b, const Facts& facts, int depth) {
  if (!Piecewise::applies(a, b) || ++real_queries_ > options_.real_queries) return false;
  const auto same = [&](const Factor& x, const Factor& y) {
    return factors_equal(x, y, facts, depth + 1);
  };
  return Piecewise(session_, options_.rlimit).equal(a, b, known_orders(a, b, facts), same);
}

// A case split on the sign of an element x: it is y for some y >= 0, or -y for some y > 0. Elements
// of the same tensor at other places stay, so y is an element of a tensor of its own, numbered
// below 0.
bool Equality::equal_by_sign(const Sum& a, const Sum& b, const Facts& facts, int depth) {
  const Factor* found = signed_element(a, false);
  if (found == nullptr) found = signed_element(b, false);
  if (found == nullptr || ++cases_ > options_.cases) return false;
  const Factor element = *found;
  Factor magnitude = element;
  magnitude.number = -1 - element.number;
  return std::ranges::all_of(std::initializer_list<int>{1, -1}, [&](int sign) {
    magnitude.sign = sign > 0 ? ir::Sign::kNotNegative : ir::Sign::kPositive;
    const Sum value = scaled(factor_sum(magnitude), sign);
    return equal(replaced(atoms_, a, element, value), replaced(atoms_, b, element, value), facts,
                 depth + 1);
  });
}

// A case split: each argument of one extremum in turn is assumed to be the extremum.
bool Equality::equal_by_extremum(const Sum& a, const Sum& b, const Facts& facts, int depth) {
  const Factor* found = innermost_extremum(a);
  if (found == nullptr) found = innermost_extremum(b);
  if (found == nullptr || ++cases_ > options_.cases) return false;
  const Factor extremum = *found;
  const std::vector<RealOrder> outside = orders_;
  bool all = true;
  for (std::size_t i = 0; i < extremum.arguments.size() && all; ++i) {
    const Sum& best = extremum.arguments[i];
    for (const Sum& other : extremum.arguments) {
      if (&other == &best) continue;
      const bool maximum = extremum.kind == Kind::kMaximum;
      orders_.push_back({maximum ? other : best, maximum ? best : other, false});
    }
    all = Piecewise(session_, options_.rlimit).contradictory(known_orders(a, b, facts)) ||
          equal(replaced(atoms_, a, extremum, best), replaced(atoms_, b, extremum, best), facts,
                depth + 1);
    orders_ = outside;
  }
  return all;
}

}  // namespace egret::verifier

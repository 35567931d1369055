// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/factor_laws.h"

#include <algorithm>
#include <optional>

#include "verifier/algebra/extremum_laws.h"
#include "verifier/algebra/integer_laws.h"
#include "verifier/algebra/signs.h"

namespace egret::verifier {
namespace {

using Kind = Factor::Kind;

Sum call(ir::Function function, Sum argument) {
  return factor_sum(
      {.kind = Kind::kCall, .function = function, .arguments = {std::move(argument)}});
}

// Of a power.
bool is_of_integers(const Factor& factor) { return factor.number != 0; }

// ---- truth values ----

// The truth of a < b or a <= b, if the sign of the difference shows it.
std::optional<bool> order_by_signs(const Factor& factor) {
  if (factor.kind == Kind::kEqual) return std::nullopt;
  const bool strict = factor.kind == Kind::kLess;
  const Sign up = sign_of(difference(factor.arguments[1], factor.arguments[0]));
  if (up == Sign::kPositive || (up == Sign::kNotNegative && !strict)) return true;
  const Sign down = sign_of(difference(factor.arguments[0], factor.arguments[1]));
  if (down == Sign::kPositive || (down == Sign::kNotNegative && strict)) return false;
  return std::nullopt;
}

Sum comparison(Factor factor) {
  const auto a = number_of(factor.arguments[0]);
  const auto b = number_of(factor.arguments[1]);
  if (a && b) {
    const bool holds = factor.kind == Kind::kLess        ? *a < *b
                       : factor.kind == Kind::kLessEqual ? *a <= *b
                                                         : *a == *b;
    return constant_sum(holds ? 1 : 0);
  }
  if (const auto known = order_by_signs(factor)) return constant_sum(*known ? 1 : 0);
  const bool same = compare(factor.arguments[0], factor.arguments[1]) == 0;
  if (same) return constant_sum(factor.kind == Kind::kLess ? 0 : 1);
  if (factor.kind == Kind::kEqual && b && is_truth(factor.arguments[0])) {
    if (*b == 0) return difference(constant_sum(1), factor.arguments[0]);
    if (*b == 1) return factor.arguments[0];
    return {};
  }
  return factor_sum(std::move(factor));
}

// ---- reciprocals ----

// The laws of reciprocals and exponentials move what does not depend on a bound variable out of
// sums, so that both sides of an equation get the same form.
Sum reciprocal(AtomTable& atoms, const Sum& sum);

// Laws for one factor: 1/(1/x) = x, 1/sqrt(c) = sqrt(c)/c for a number c > 0, 1/exp(x) = exp(-x),
// 1/pow(x, y) = pow(x, -y).
Sum reciprocal_of(AtomTable& atoms, const Factor& factor) {
  if (factor.kind == Kind::kReciprocal) return factor.arguments[0];
  if (is_call(factor, ir::Function::kSqrt)) {
    if (const auto number = number_of(factor.arguments[0]); number && *number > 0)
      return scaled(factor_sum(factor), 1 / *number);
  }
  if (is_call(factor, ir::Function::kExp))
    return lawful(atoms, Factor{.kind = Kind::kCall,
                                .function = ir::Function::kExp,
                                .arguments = {scaled(factor.arguments[0], -1)}});
  if (is_call(factor, ir::Function::kPow) && !is_of_integers(factor))
    return lawful(atoms,
                  Factor{.kind = Kind::kCall,
                         .function = ir::Function::kPow,
                         .arguments = {factor.arguments[0], scaled(factor.arguments[1], -1)}});
  return factor_sum({.kind = Kind::kReciprocal, .arguments = {factor_sum(factor)}});
}

bool varies(const AtomTable& atoms, const Term& binder, const Sum& sum) {
  return std::ranges::any_of(binder.variables, [&](AtomId v) { return occurs(atoms, v, sum); });
}

// Removes from a term with variables the factors that do not vary, and returns them. An exponential
// is split: the part of its exponent that does not vary is removed. By distributivity, they may
// stand before the sum over the term's variables.
std::vector<Factor> take_constants(const AtomTable& atoms, Term& term) {
  std::vector<Factor> out;
  std::vector<Factor> kept;
  for (Factor& factor : term.factors) {
    if (!varies(atoms, term, factor_sum(factor))) {
      out.push_back(std::move(factor));
    } else if (is_call(factor, ir::Function::kExp)) {
      Sum fixed;
      Sum varying;
      for (const Term& part : factor.arguments[0].terms)
        (varies(atoms, term, Sum{{part}}) ? varying : fixed).terms.push_back(part);
      if (!fixed.is_zero()) {
        out.push_back({.kind = Kind::kCall, .function = ir::Function::kExp, .arguments = {fixed}});
        factor.arguments = {varying};
      }
      kept.push_back(std::move(factor));
    } else {
      kept.push_back(std::move(factor));
    }
  }
  term.factors = std::move(kept);
  return out;
}

// Removes one term that is alike; returns whether there was one.
bool take_alike(AtomTable& atoms, const Term& part, Sum& from) {
  bool taken = false;
  std::erase_if(from.terms, [&](const Term& other) {
    if (taken || !alike(atoms, Sum{{part}}, Sum{{other}})) return false;
    return taken = true;
  });
  return taken;
}

// The part of the exponents that all terms share and that varies within none. It is the
// intersection of the multisets of parts, up to the names of bound variables.
Sum common_exponent(AtomTable& atoms, const Sum& sum) {
  std::optional<Sum> common;
  for (const Term& term : sum.terms) {
    Sum fixed;
    for (const Factor& factor : term.factors) {
      if (!is_call(factor, ir::Function::kExp)) continue;
      for (const Term& part : factor.arguments[0].terms) {
        if (!varies(atoms, term, Sum{{part}})) fixed.terms.push_back(part);
      }
    }
    if (!common) common = fixed;
    std::erase_if(common->terms, [&](const Term& part) { return !take_alike(atoms, part, fixed); });
  }
  return *common;
}

// The sum divided by e to the common exponent.
Sum without_exponent(AtomTable& atoms, const Sum& sum, const Sum& common) {
  Sum result;
  for (Term term : sum.terms) {
    for (Factor& factor : term.factors) {
      if (!is_call(factor, ir::Function::kExp)) continue;
      Sum exponent = factor.arguments[0];
      for (const Term& part : common.terms) take_alike(atoms, part, exponent);
      factor.arguments = {std::move(exponent)};
    }
    std::erase_if(term.factors, [](const Factor& factor) {
      return is_call(factor, ir::Function::kExp) && factor.arguments[0].is_zero();
    });
    std::ranges::sort(term.factors,
                      [](const Factor& p, const Factor& q) { return compare(p, q) < 0; });
    result = std::move(result) + lawful(atoms, std::move(term));
  }
  return result;
}

// The reciprocal of a product is the product of reciprocals. From a sum over a range, factors that
// do not vary come out; from a sum of terms, their common exponential and first coefficient. This
// is what proves softmax(x + c) = softmax(x).
Sum reciprocal(AtomTable& atoms, const Sum& sum) {
  if (const auto number = number_of(sum); number && *number != 0) return constant_sum(1 / *number);
  if (sum.is_zero()) return factor_sum({.kind = Kind::kReciprocal, .arguments = {sum}});
  const Rational scale = sum.terms.front().coefficient;
  if (sum.terms.size() > 1) {
    const Sum common = common_exponent(atoms, sum);
    if (!common.is_zero()) {
      const Sum rest = without_exponent(atoms, sum, common);
      return lawful(atoms,
                    product(call(ir::Function::kExp, scaled(common, -1)), reciprocal(atoms, rest)));
    }
    return scaled(factor_sum({.kind = Kind::kReciprocal, .arguments = {scaled(sum, 1 / scale)}}),
                  1 / scale);
  }
  Term term = sum.terms.front();
  term.coefficient = 1;
  const bool plain = is_plain(term);
  std::vector<Factor> out = plain ? std::move(term.factors) : take_constants(atoms, term);
  Sum result = constant_sum(1 / scale);
  if (!plain) {
    result = product(
        result, factor_sum({.kind = Kind::kReciprocal, .arguments = {Sum{{std::move(term)}}}}));
  }
  for (const Factor& factor : out) result = product(result, reciprocal_of(atoms, factor));
  return result;
}

// ---- functions ----

Sum magnitude(AtomTable& atoms, const Sum& sum) {
  if (sign_of(sum) != Sign::kUnknown) return sum;
  return extremum(atoms, {.kind = Kind::kMaximum, .arguments = {sum, scaled(sum, -1)}});
}

// pow(a, 0) = 1. Small powers are multiplied out; negative ones are reciprocals of these, and the
// exponent 1/2 becomes a square root. Each copy of the base gets its own bound variables. The
// product of k sums has the k-th power of their terms, hence the limit. A power of integers with a
// negative exponent is cut off; no law is applied unless the exponent is known.
Sum power(AtomTable& atoms, const Factor& factor) {
  const Sum& base = factor.arguments[0];
  if (const Factor* only = only_factor(base); only != nullptr && is_call(*only, ir::Function::kExp))
    return lawful(atoms, Factor{.kind = Kind::kCall,
                                .function = ir::Function::kExp,
                                .arguments = {product(only->arguments[0], factor.arguments[1])}});
  const auto exponent = number_of(factor.arguments[1]);
  if (!exponent) return factor_sum(factor);
  if (*exponent == Rational(1, 2))
    return lawful(
        atoms, Factor{.kind = Kind::kCall, .function = ir::Function::kSqrt, .arguments = {base}});
  constexpr int kLargest = 4;
  const bool cut_off = *exponent < 0 && is_of_integers(factor);
  const bool small = *exponent <= kLargest && *exponent >= -kLargest;
  if (denominator(*exponent) != 1 || !small || cut_off) return factor_sum(factor);
  if (*exponent < 0) {
    const auto opposite = Rational(-*exponent);
    return reciprocal(atoms, power(atoms, Factor{.kind = Kind::kCall,
                                                 .function = ir::Function::kPow,
                                                 .arguments = {base, constant_sum(opposite)}}));
  }
  if (*exponent == 0) return constant_sum(1);
  Sum result = base;
  for (Rational i = 1; i < *exponent; i += 1) result = product(result, renamed(atoms, base));
  return lawful(atoms, result);
}

// sqrt(p*p) = |p|, sqrt(1/a) = 1/sqrt(a).
Sum square_root(AtomTable& atoms, Factor factor) {
  const Sum& argument = factor.arguments[0];
  if (argument.terms.size() != 1 || !is_plain(argument.terms[0]) ||
      argument.terms[0].coefficient != 1)
    return factor_sum(std::move(factor));
  const std::vector<Factor>& factors = argument.terms[0].factors;
  const bool inverse =
      std::ranges::all_of(factors, [](const Factor& one) { return one.kind == Kind::kReciprocal; });
  if (inverse && !factors.empty())
    return reciprocal(atoms, lawful(atoms, Factor{.kind = Kind::kCall,
                                                  .function = ir::Function::kSqrt,
                                                  .arguments = {reciprocal(atoms, argument)}}));
  if (factors.size() % 2 != 0) return factor_sum(std::move(factor));
  Sum root = constant_sum(1);
  for (std::size_t i = 0; i < factors.size(); i += 2) {
    if (compare(factors[i], factors[i + 1]) != 0) return factor_sum(std::move(factor));
    root = product(root, factor_sum(factors[i]));
  }
  return magnitude(atoms, root);
}

Sum exponential_divided(AtomTable& atoms, const Sum& sum, const Sum& exponent) {
  const Sum by = call(ir::Function::kExp, scaled(exponent, -1));
  Sum result;
  for (const Term& term : sum.terms)
    result = std::move(result) + lawful(atoms, product(Sum{{term}}, renamed(atoms, by)));
  return result;
}

// log(a + b exp(p)) = p + log(a exp(-p) + b). Among these equivalent forms, the one whose sum is
// least in the order is chosen, so equal values get one form. Only exponents that occur in the sum
// are tried.
Sum logarithm_of_sum(AtomTable& atoms, const Factor& factor) {
  const Sum& argument = factor.arguments[0];
  const bool plain = std::ranges::all_of(argument.terms, is_plain);
  Sum best = argument;
  Sum outside;
  for (std::size_t i = 0; plain && i < argument.terms.size(); ++i) {
    for (const Factor& one : argument.terms[i].factors) {
      if (!is_call(one, ir::Function::kExp)) continue;
      Sum divided = exponential_divided(atoms, argument, one.arguments[0]);
      if (compare(divided, best) >= 0) continue;
      best = std::move(divided);
      outside = one.arguments[0];
    }
  }
  return std::move(outside) + call(ir::Function::kLog, std::move(best));
}

// log(sum of exp(a + p)) = p + log(sum of exp(a)) if p does not vary.
Sum logarithm_over_range(AtomTable& atoms, const Factor& factor) {
  Term term = factor.arguments[0].terms[0];
  Sum outside;
  for (Factor& one : take_constants(atoms, term)) {
    if (is_call(one, ir::Function::kExp)) {
      outside = std::move(outside) + one.arguments[0];
    } else {
      term.factors.push_back(std::move(one));
    }
  }
  std::ranges::sort(term.factors,
                    [](const Factor& p, const Factor& q) { return compare(p, q) < 0; });
  return std::move(outside) + call(ir::Function::kLog, Sum{{std::move(term)}});
}

// log(exp(x) y / z) = x + log(y) - log(z), where z is known to be positive, and log(sqrt(x)) =
// log(x)/2: where the logarithm of a product has a value, a root among the factors is not 0.
Sum logarithm(AtomTable& atoms, const Factor& factor) {
  const Sum& argument = factor.arguments[0];
  if (const auto number = number_of(argument); number && *number == 1) return {};
  if (argument.terms.size() != 1) return logarithm_of_sum(atoms, factor);
  if (!is_plain(argument.terms[0])) return logarithm_over_range(atoms, factor);
  Term rest = argument.terms[0];
  const bool is_product = rest.factors.size() > 1 || rest.coefficient != 1;
  std::vector<Factor> kept;
  Sum result;
  const auto logarithm_of = [&](const Sum& sum) {
    return lawful(atoms,
                  Factor{.kind = Kind::kCall, .function = ir::Function::kLog, .arguments = {sum}});
  };
  for (const Factor& one : rest.factors) {
    if (is_call(one, ir::Function::kExp)) {
      result = std::move(result) + one.arguments[0];
    } else if (one.kind == Kind::kReciprocal && sign_of(one) == Sign::kPositive) {
      result = difference(result, logarithm_of(one.arguments[0]));
    } else if (is_call(one, ir::Function::kSqrt)) {
      result = std::move(result) + scaled(logarithm_of(one.arguments[0]), Rational(1, 2));
    } else if (is_product && sign_of(one) == Sign::kPositive) {
      result = std::move(result) + logarithm_of(factor_sum(one));
    } else {
      kept.push_back(one);
    }
  }
  rest.factors = std::move(kept);
  const Sum left{{std::move(rest)}};
  const auto number = number_of(left);
  if (number && *number == 1) return result;
  return std::move(result) + call(ir::Function::kLog, left);
}

// exp(a + log(p) - log(q)) = exp(a) * p / q.
Sum exponential(AtomTable& atoms, const Factor& factor) {
  Sum rest;
  Sum outside = constant_sum(1);
  for (const Term& term : factor.arguments[0].terms) {
    const bool logarithm = is_plain(term) && term.factors.size() == 1 &&
                           is_call(term.factors[0], ir::Function::kLog) &&
                           (term.coefficient == 1 || term.coefficient == -1);
    if (!logarithm) {
      rest = std::move(rest) + Sum{{term}};
      continue;
    }
    const Sum& argument = term.factors[0].arguments[0];
    outside = product(outside, term.coefficient == 1 ? argument : reciprocal(atoms, argument));
  }
  return rest.is_zero() ? outside : product(outside, call(ir::Function::kExp, std::move(rest)));
}

Sum function_value(AtomTable& atoms, Factor factor) {
  if (auto value = integer_function(atoms, factor)) return *std::move(value);
  if (factor.function == ir::Function::kPow) return power(atoms, factor);
  if (factor.function == ir::Function::kSqrt) return square_root(atoms, std::move(factor));
  if (factor.function == ir::Function::kLog) return logarithm(atoms, factor);
  if (factor.function == ir::Function::kExp) return exponential(atoms, factor);
  // Even and odd functions: makes the first coefficient of the argument positive.
  const ir::FunctionFacts& facts = ir::facts(factor.function);
  const Sum& argument = factor.arguments[0];
  if (facts.parity == ir::Parity::kNone || facts.arity != 1 || argument.is_zero() ||
      argument.terms[0].coefficient > 0)
    return factor_sum(std::move(factor));
  factor.arguments = {scaled(argument, -1)};
  const int sign = facts.parity == ir::Parity::kOdd ? -1 : 1;
  return scaled(factor_sum(std::move(factor)), sign);
}

// An index as a number: expands the polynomial into a sum over index atoms.
Sum index_value(const Factor& factor) {
  const Polynomial& index = factor.indices[0];
  if (index.as_atom().valid()) return factor_sum(factor);
  Sum sum;
  for (const auto& [monomial, coefficient] : index.terms()) {
    Sum term = constant_sum(coefficient);
    for (const AtomId atom : monomial)
      term = product(
          term, factor_sum({.kind = Kind::kIndex, .indices = {Polynomial(atom)}, .arguments = {}}));
    sum = std::move(sum) + term;
  }
  return sum;
}

}  // namespace

// Applies the laws for the kind of the factor.
Sum lawful(AtomTable& atoms, Factor factor) {
  switch (factor.kind) {
    case Kind::kIndex: return index_value(factor);
    case Kind::kReciprocal: return reciprocal(atoms, factor.arguments[0]);
    case Kind::kQuotient: return integer_quotient(atoms, factor);
    case Kind::kCall: return function_value(atoms, std::move(factor));
    case Kind::kCast: return integer_cast(std::move(factor));
    case Kind::kReduce: return extremum_over_range(atoms, std::move(factor));
    case Kind::kMaximum:
    case Kind::kMinimum: return extremum(atoms, std::move(factor));
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kEqual: return comparison(std::move(factor));
    default: break;
  }
  return factor_sum(std::move(factor));
}

namespace {

// The square of a factor, if a law gives it: a for sqrt(a) and 1/a for 1/sqrt(a), where these are
// defined; p*p for max(p, -p); a truth value itself.
std::optional<Sum> square(AtomTable& atoms, const Factor& factor) {
  if (is_truth(factor)) return factor_sum(factor);
  if (is_call(factor, ir::Function::kSqrt)) return factor.arguments[0];
  if (factor.kind == Kind::kReciprocal) {
    const Factor* of = only_factor(factor.arguments[0]);
    if (of == nullptr || !is_call(*of, ir::Function::kSqrt)) return std::nullopt;
    return reciprocal(atoms, of->arguments[0]);
  }
  const bool magnitude = (factor.kind == Kind::kMaximum || factor.kind == Kind::kMinimum) &&
                         factor.arguments.size() == 2 &&
                         (factor.arguments[0] + factor.arguments[1]).is_zero();
  if (!magnitude) return std::nullopt;
  return product(factor.arguments[0], renamed(atoms, factor.arguments[0]));
}

// Replaces one pair of equal factors by their square. Factors are sorted, so equal ones are
// adjacent.
std::optional<Sum> without_square(AtomTable& atoms, const Term& term) {
  for (std::size_t i = 0; i + 1 < term.factors.size(); ++i) {
    if (compare(term.factors[i], term.factors[i + 1]) != 0) continue;
    const auto squared = square(atoms, term.factors[i]);
    if (!squared) continue;
    Term rest = term;
    const auto at = rest.factors.begin() + static_cast<std::ptrdiff_t>(i);
    rest.factors.erase(at, at + 2);
    return product(lawful(atoms, std::move(rest)), *squared);
  }
  return std::nullopt;
}

}  // namespace

namespace {

// f * 1/f = 1: where f = 0, the left side is undefined. The later factor is erased first, so the
// position of the earlier one stays valid. The search then starts again.
void cancel_reciprocals(Term& term) {
  for (std::size_t i = 0; i < term.factors.size(); ++i) {
    if (term.factors[i].kind != Kind::kReciprocal) continue;
    const Factor* of = only_factor(term.factors[i].arguments[0]);
    if (of == nullptr) continue;
    const auto other = std::ranges::find_if(
        term.factors, [&](const Factor& factor) { return compare(factor, *of) == 0; });
    if (other == term.factors.end()) continue;
    const auto at = other - term.factors.begin();
    const auto reciprocal = static_cast<std::ptrdiff_t>(i);
    term.factors.erase(term.factors.begin() + std::max(at, reciprocal));
    term.factors.erase(term.factors.begin() + std::min(at, reciprocal));
    i = 0;
  }
}

}  // namespace

// Cancels reciprocals and squares, then multiplies the exponentials: exp(x) exp(y) = exp(x + y).
Sum lawful(AtomTable& atoms, Term term) {
  cancel_reciprocals(term);
  if (auto shorter = without_square(atoms, term)) return *std::move(shorter);
  const auto exponentials =
      std::partition(term.factors.begin(), term.factors.end(),
                     [](const Factor& factor) { return !is_call(factor, ir::Function::kExp); });
  if (exponentials == term.factors.end()) return {{std::move(term)}};
  Sum exponent;
  for (auto factor = exponentials; factor != term.factors.end(); ++factor) {
    exponent = std::move(exponent) + factor->arguments[0];
  }
  exponent = joined(atoms, exponent);
  term.factors.erase(exponentials, term.factors.end());
  std::ranges::sort(term.factors,
                    [](const Factor& p, const Factor& q) { return compare(p, q) < 0; });
  Sum rest{{std::move(term)}};
  if (exponent.is_zero()) return rest;
  return product(rest, lawful(atoms, Factor{.kind = Kind::kCall,
                                            .function = ir::Function::kExp,
                                            .arguments = {std::move(exponent)}}));
}

Sum lawful(AtomTable& atoms, const Sum& sum) {
  Sum result;
  for (const Term& term : sum.terms) result = std::move(result) + lawful(atoms, Term(term));
  return result;
}

}  // namespace egret::verifier

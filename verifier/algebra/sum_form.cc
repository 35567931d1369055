// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/sum_form.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace egret::verifier {
namespace {

template <typename T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

// Lists are ordered by length first, then by the first different item.
template <typename List, typename Compare>
int compare_lists(const List& a, const List& b, const Compare& compare_items) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const int order = compare_items(a[i], b[i]); order != 0) return order;
  }
  return 0;
}

// Sums keep their terms sorted in this order: factors, bound variables, guards, coefficient.
int compare_terms(const Term& a, const Term& b) {
  if (const int order = compare_lists(
          a.factors, b.factors, [](const Factor& x, const Factor& y) { return compare(x, y); });
      order != 0) {
    return order;
  }
  if (const int order = three_way(a.variables, b.variables); order != 0) return order;
  if (const int order = three_way(a.guards, b.guards); order != 0) return order;
  return three_way(a.coefficient, b.coefficient);
}

void normalize(Facts& guards) {
  std::ranges::sort(guards);
  guards.erase(std::unique(guards.begin(), guards.end()), guards.end());
}

}  // namespace

Arguments::Arguments(std::vector<Sum> sums)
    : sums_(sums.empty() ? nullptr : std::make_shared<const std::vector<Sum>>(std::move(sums))) {}
Arguments::Arguments(std::initializer_list<Sum> sums) : Arguments(std::vector<Sum>(sums)) {}
std::size_t Arguments::size() const { return sums_ != nullptr ? sums_->size() : 0; }
const Sum& Arguments::operator[](std::size_t i) const { return (*sums_)[i]; }
const Sum* Arguments::begin() const { return sums_ != nullptr ? sums_->data() : nullptr; }
const Sum* Arguments::end() const { return sums_ != nullptr ? begin() + size() : nullptr; }

bool is_plain(const Term& term) { return term.variables.empty() && term.guards.empty(); }

std::optional<Rational> number_of(const Sum& sum) {
  if (sum.terms.empty()) return Rational(0);
  const Term& term = sum.terms.front();
  if (sum.terms.size() > 1 || !is_plain(term) || !term.factors.empty()) return std::nullopt;
  return term.coefficient;
}

const Factor* only_factor(const Sum& sum) {
  const bool alone = sum.terms.size() == 1 && is_plain(sum.terms[0]) &&
                     sum.terms[0].coefficient == 1 && sum.terms[0].factors.size() == 1;
  return alone ? &sum.terms[0].factors[0] : nullptr;
}

int compare(const Factor& a, const Factor& b) {
  if (const int order = three_way(a.kind, b.kind); order != 0) return order;
  if (const int order = three_way(a.number, b.number); order != 0) return order;
  if (const int order = three_way(a.function, b.function); order != 0) return order;
  if (const int order = three_way(a.reduction, b.reduction); order != 0) return order;
  if (const int order = three_way(a.indices, b.indices); order != 0) return order;
  if (const int order = three_way(a.variables, b.variables); order != 0) return order;
  if (const int order = three_way(a.guards, b.guards); order != 0) return order;
  if (a.arguments.same(b.arguments)) return 0;
  return compare_lists(a.arguments, b.arguments,
                       [](const Sum& x, const Sum& y) { return compare(x, y); });
}

int compare(const Sum& a, const Sum& b) { return compare_lists(a.terms, b.terms, compare_terms); }

Sum constant_sum(const Rational& value) {
  Sum sum;
  if (value != 0) sum.terms.push_back({.coefficient = value, .factors = {}});
  return sum;
}

Sum factor_sum(Factor factor) {
  Term term;
  term.factors.push_back(std::move(factor));
  return {{std::move(term)}};
}

// Adds up equal terms that have no variables. Keeps the terms sorted. Terms with variables are
// added up only by joined(), which compares them up to the names of variables.
Sum operator+(Sum a, const Sum& b) {
  for (const Term& term : b.terms) {
    const auto same = std::ranges::find_if(a.terms, [&](const Term& other) {
      return term.variables.empty() && other.variables.empty() && term.guards == other.guards &&
             compare_lists(term.factors, other.factors,
                           [](const Factor& x, const Factor& y) { return compare(x, y); }) == 0;
    });
    if (same == a.terms.end()) {
      a.terms.push_back(term);
    } else {
      same->coefficient += term.coefficient;
      if (same->coefficient == 0) a.terms.erase(same);
    }
  }
  std::ranges::sort(a.terms, [](const Term& x, const Term& y) { return compare_terms(x, y) < 0; });
  return a;
}

Sum scaled(Sum a, const Rational& by) {
  if (by == 0) return {};
  for (Term& term : a.terms) term.coefficient *= by;
  return a;
}

Sum difference(const Sum& a, const Sum& b) { return a + scaled(b, -1); }

// Multiplies out. The bound variables of both terms are joined, so they must be distinct
// (renamed()). Terms with impossible guards are dropped.
Sum product(const Sum& a, const Sum& b) {
  Sum result;
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      Term term = x;
      term.coefficient *= y.coefficient;
      term.variables.insert(term.variables.end(), y.variables.begin(), y.variables.end());
      term.guards.insert(term.guards.end(), y.guards.begin(), y.guards.end());
      normalize(term.guards);
      if (impossible(term.guards)) continue;
      term.factors.insert(term.factors.end(), y.factors.begin(), y.factors.end());
      std::ranges::sort(term.factors,
                        [](const Factor& p, const Factor& q) { return compare(p, q) < 0; });
      result = std::move(result) + Sum{{std::move(term)}};
    }
  }
  return result;
}

Sum guarded(Sum a, const Facts& guards) {
  if (impossible(guards)) return {};
  for (Term& term : a.terms) {
    for (const Literal& guard : guards) {
      if (obvious(guard) != Truth::kTrue) term.guards.push_back(guard);
    }
    normalize(term.guards);
  }
  return a;
}

namespace {

Facts changed(const Facts& facts, const Change& change) {
  Facts result;
  for (const Literal& fact : facts) {
    Literal one{change(fact.polynomial), fact.relation};
    if (obvious(one) != Truth::kTrue) result.push_back(std::move(one));
  }
  normalize(result);
  return result;
}

// Applies a change to the indices and guards of a factor and, recursively, of its arguments.
Factor changed(const Factor& factor, const Change& change) {
  Factor result = factor;
  for (Polynomial& index : result.indices) index = change(index);
  if (result.arguments.size() > 0) {
    result.arguments = mapped(
        factor.arguments, [&](const Sum& argument) { return verifier::changed(argument, change); });
  }
  result.guards = changed(factor.guards, change);
  return result;
}

}  // namespace

Sum changed(const Sum& sum, const Change& change) {
  Sum result;
  for (const Term& term : sum.terms) {
    Term copy = term;
    copy.guards = changed(term.guards, change);
    if (impossible(copy.guards)) continue;
    for (Factor& factor : copy.factors) factor = changed(factor, change);
    std::ranges::sort(copy.factors,
                      [](const Factor& p, const Factor& q) { return compare(p, q) < 0; });
    result = std::move(result) + Sum{{std::move(copy)}};
  }
  return result;
}

Factor substitute(AtomTable& atoms, const Factor& factor, const AtomTable::Substitution& by) {
  return changed(factor, [&](const Polynomial& p) { return atoms.substitute(p, by); });
}

Sum substitute(AtomTable& atoms, const Sum& sum, const AtomTable::Substitution& by) {
  if (by.empty()) return sum;
  return changed(sum, [&](const Polynomial& p) { return atoms.substitute(p, by); });
}

namespace {

bool occurs(const AtomTable& atoms, AtomId variable, const Facts& in) {
  return std::ranges::any_of(
      in, [&](const Literal& fact) { return atoms.occurs(variable, fact.polynomial); });
}

bool occurs(const AtomTable& atoms, AtomId variable, const Factor& in) {
  return occurs(atoms, variable, in.guards) ||
         std::ranges::any_of(in.indices,
                             [&](const Polynomial& p) { return atoms.occurs(variable, p); }) ||
         std::ranges::any_of(in.arguments, [&](const Sum& argument) {
           return verifier::occurs(atoms, variable, argument);
         });
}

}  // namespace

bool occurs(const AtomTable& atoms, AtomId variable, const Sum& in) {
  return std::ranges::any_of(in.terms, [&](const Term& term) {
    return occurs(atoms, variable, term.guards) ||
           std::ranges::any_of(term.factors,
                               [&](const Factor& f) { return occurs(atoms, variable, f); });
  });
}

namespace {

// The substitution that renames the variables of binder b to those of binder a.
AtomTable::Substitution to_variables(const std::vector<AtomId>& a, const std::vector<AtomId>& b) {
  AtomTable::Substitution by;
  for (std::size_t i = 0; i < a.size(); ++i) by[b[i]] = Polynomial(a[i]);
  return by;
}

// Equality up to the names of bound variables, in their given order. No facts are used. Linear in
// the size. Binders whose variables are listed in another order are not recognized here. Equality
// searches a bijection for them.
bool alike(AtomTable& atoms, const Factor& a, const Factor& b) {
  if (compare(a, b) == 0) return true;
  if (a.kind != b.kind || a.number != b.number || a.function != b.function ||
      a.reduction != b.reduction || a.indices != b.indices ||
      a.variables.size() != b.variables.size() || a.arguments.size() != b.arguments.size())
    return false;
  const Factor moved = substitute(atoms, b, to_variables(a.variables, b.variables));
  if (a.guards != moved.guards) return false;
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    if (!verifier::alike(atoms, a.arguments[i], moved.arguments[i])) return false;
  }
  return true;
}

// Ignores coefficients.
bool alike(AtomTable& atoms, const Term& a, const Term& b) {
  if (a.variables.size() != b.variables.size() || a.factors.size() != b.factors.size() ||
      a.guards.size() != b.guards.size())
    return false;
  const Sum moved = substitute(atoms, Sum{{b}}, to_variables(a.variables, b.variables));
  if (moved.terms.size() != 1 || moved.terms[0].guards != a.guards) return false;
  const std::vector<Factor>& others = moved.terms[0].factors;
  return std::ranges::equal(a.factors, others,
                            [&](const Factor& x, const Factor& y) { return alike(atoms, x, y); });
}

}  // namespace

bool alike(AtomTable& atoms, const Sum& a, const Sum& b) {
  return std::ranges::equal(a.terms, b.terms, [&](const Term& x, const Term& y) {
    return x.coefficient == y.coefficient && alike(atoms, x, y);
  });
}

namespace {

// The common guards, if both lists differ in exactly one pair of opposite literals.
std::optional<Facts> without_opposite(const Facts& a, const Facts& b) {
  if (a.size() != b.size()) return std::nullopt;
  Facts common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  if (common.size() + 1 != a.size()) return std::nullopt;
  const auto other = [&](const Facts& guards) {
    return *std::ranges::find_if(
        guards, [&](const Literal& guard) { return !std::ranges::binary_search(common, guard); });
  };
  return other(a) == negation(other(b)) ? std::optional(std::move(common)) : std::nullopt;
}

// [g] t + [not g] t = t. Joins one such pair; returns whether there was one.
bool join_opposites(Sum& sum) {
  for (std::size_t i = 0; i < sum.terms.size(); ++i) {
    for (std::size_t j = i + 1; j < sum.terms.size(); ++j) {
      Term& a = sum.terms[i];
      const Term& b = sum.terms[j];
      if (a.coefficient != b.coefficient || !a.variables.empty() || !b.variables.empty() ||
          compare_lists(a.factors, b.factors,
                        [](const Factor& x, const Factor& y) { return compare(x, y); }) != 0)
        continue;
      auto common = without_opposite(a.guards, b.guards);
      if (!common) continue;
      a.guards = *std::move(common);
      sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(j));
      return true;
    }
  }
  return false;
}

}  // namespace

// Adds up the terms that are alike and joins terms under opposite guards. Each join removes a term,
// so the loop ends.
Sum joined(AtomTable& atoms, const Sum& sum) {
  Sum result;
  for (const Term& term : sum.terms) {
    const auto same = std::ranges::find_if(
        result.terms, [&](const Term& other) { return alike(atoms, other, term); });
    if (same == result.terms.end()) {
      result.terms.push_back(term);
    } else {
      same->coefficient += term.coefficient;
      if (same->coefficient == 0) result.terms.erase(same);
    }
  }
  while (join_opposites(result)) {
  }
  return result;
}

namespace {

std::vector<AtomId> fresh(AtomTable& atoms, const std::vector<AtomId>& variables,
                          AtomTable::Substitution& by) {
  std::vector<AtomId> result;
  for (const AtomId variable : variables) {
    result.push_back(atoms.fresh_variable());
    by[variable] = Polynomial(result.back());
  }
  return result;
}

Factor renamed_factor(AtomTable& atoms, const Factor& factor) {
  Factor result = factor;
  if (result.arguments.size() > 0) {
    result.arguments =
        mapped(factor.arguments, [&](const Sum& argument) { return renamed(atoms, argument); });
  }
  if (factor.variables.empty()) return result;
  AtomTable::Substitution by;
  std::vector<AtomId> variables = fresh(atoms, factor.variables, by);
  result = substitute(atoms, result, by);
  result.variables = std::move(variables);
  return result;
}

}  // namespace

// Replaces all bound variables by fresh ones, inner binders first. A product joins the binders of
// its operands. Without fresh names, the square of a sum would become a sum of squares.
Sum renamed(AtomTable& atoms, const Sum& sum) {
  Sum result;
  for (const Term& term : sum.terms) {
    Term copy = term;
    for (Factor& factor : copy.factors) factor = renamed_factor(atoms, factor);
    if (!term.variables.empty()) {
      AtomTable::Substitution by;
      std::vector<AtomId> variables = fresh(atoms, term.variables, by);
      Sum changed = substitute(atoms, Sum{{std::move(copy)}}, by);
      if (changed.terms.empty()) continue;
      copy = std::move(changed.terms.front());
      copy.variables = std::move(variables);
    }
    result.terms.push_back(std::move(copy));
  }
  return result;
}

namespace {

std::string list_text(const AtomTable& atoms, const std::vector<Polynomial>& indices) {
  std::string result;
  for (const Polynomial& index : indices)
    result += (result.empty() ? "" : ", ") + atoms.text(index);
  return result;
}

std::string binder_text(const AtomTable& atoms, const std::vector<AtomId>& variables,
                        const Facts& guards) {
  std::string result;
  for (const AtomId variable : variables) result += " " + atoms.text(variable);
  for (std::size_t i = 0; i < guards.size(); ++i)
    result += (i == 0 ? " where " : " and ") + text(atoms, guards[i]);
  return result;
}

std::string factor_text(const AtomTable& atoms, const Factor& factor) {
  const auto argument = [&](std::size_t i) { return text(atoms, factor.arguments[i]); };
  std::string all;
  for (std::size_t i = 0; i < factor.arguments.size(); ++i)
    all += (i == 0 ? "" : ", ") + argument(i);
  switch (factor.kind) {
    case Factor::Kind::kRead:
      return "x" + std::to_string(factor.number) + "[" + list_text(atoms, factor.indices) + "]";
    case Factor::Kind::kReciprocal: return "1/(" + all + ")";
    case Factor::Kind::kQuotient: return "quotient(" + all + ")";
    case Factor::Kind::kCall: return std::string(ir::facts(factor.function).name) + "(" + all + ")";
    case Factor::Kind::kMaximum: return "max(" + all + ")";
    case Factor::Kind::kMinimum: return "min(" + all + ")";
    case Factor::Kind::kReduce:
      return "(reduce" + binder_text(atoms, factor.variables, factor.guards) + ": " + all + ")";
    case Factor::Kind::kIndex: return "(" + list_text(atoms, factor.indices) + ")";
    case Factor::Kind::kLess: return "[" + argument(0) + " < " + argument(1) + "]";
    case Factor::Kind::kLessEqual: return "[" + argument(0) + " <= " + argument(1) + "]";
    case Factor::Kind::kEqual: return "[" + argument(0) + " = " + argument(1) + "]";
    case Factor::Kind::kCast: return "cast(" + all + ")";
    case Factor::Kind::kFiniteWhere:
      return "(" + all + binder_text(atoms, {}, factor.guards) + " else -inf)";
  }
  return "";
}

}  // namespace

std::string text(const AtomTable& atoms, const Sum& sum) {
  if (sum.terms.empty()) return "0";
  std::string result;
  for (const Term& term : sum.terms) {
    if (!result.empty()) result += " + ";
    if (!term.variables.empty() || !term.guards.empty())
      result += "(sum" + binder_text(atoms, term.variables, term.guards) + ") ";
    if (term.coefficient != 1 || term.factors.empty()) result += term.coefficient.str() + " ";
    for (const Factor& factor : term.factors) result += factor_text(atoms, factor) + " ";
    result.pop_back();
  }
  return result;
}

}  // namespace egret::verifier

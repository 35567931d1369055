// SPDX-License-Identifier: Apache-2.0
#include "verifier/contradictions/query_atoms.h"

#include <algorithm>
#include <iterator>

namespace egret::verifier {

using Op = Query::Op;
using Relation = QueryFact::Relation;
using boost::multiprecision::cpp_int;

void add_to(QueryPolynomial& sum, const QueryPolynomial& other, const ExactRational& factor) {
  for (const auto& [product, coefficient] : other) {
    ExactRational& place = sum[product];
    place += factor * coefficient;
    if (place == 0) sum.erase(product);
  }
}

QueryPolynomial product_of(const QueryPolynomial& a, const QueryPolynomial& b) {
  QueryPolynomial result;
  for (const auto& [left, x] : a) {
    QueryPolynomial moved;
    for (const auto& [right, y] : b) {
      QueryProduct joint;
      std::ranges::merge(left, right, std::back_inserter(joint));
      moved.emplace(std::move(joint), y);
    }
    add_to(result, moved, x);
  }
  return result;
}

namespace {

bool is_comparison_op(Op op) { return op == Op::kLess || op == Op::kLessEqual || op == Op::kEqual; }

bool is_formula_op(Op op) {
  return is_comparison_op(op) || op == Op::kTruth || op == Op::kNot || op == Op::kAnd ||
         op == Op::kOr || op == Op::kImplies;
}

cpp_int floor_of(const ExactRational& number) {
  cpp_int quotient = numerator(number) / denominator(number);
  if (number < 0 && ExactRational(quotient) != number) quotient -= 1;
  return quotient;
}

ExactRational constant_of(const QueryPolynomial& polynomial) {
  const auto found = polynomial.find({});
  return found != polynomial.end() ? found->second : ExactRational(0);
}

// Divided by the greatest common divisor of all coefficients but the constant, which is rounded
// down if the value is a whole number that is not negative.
void tighten(QueryFact& fact) {
  cpp_int divisor = 0;
  cpp_int scale = 1;
  for (const auto& [product, coefficient] : fact.value)
    scale = lcm(scale, cpp_int(denominator(coefficient)));
  for (const auto& [product, coefficient] : fact.value) {
    if (!product.empty())
      divisor = gcd(divisor, cpp_int(numerator(ExactRational(coefficient * scale))));
  }
  if (divisor == 0) return;
  const ExactRational factor(scale, divisor);
  for (auto& [product, coefficient] : fact.value) coefficient *= factor;
  const auto constant = fact.value.find({});
  if (constant == fact.value.end() || fact.relation != Relation::kNonNegative) return;
  constant->second = floor_of(constant->second);
  if (constant->second == 0) fact.value.erase(constant);
}

}  // namespace

QueryAtoms::QueryAtoms(const Query& query) : query_(query) {
  const std::size_t count = query.nodes().size();
  is_formula_.resize(count);
  names_.resize(count);
  choices_.resize(count);
  values_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const Query::Node& node = query.nodes()[i];
    is_formula_[i] = is_formula_op(node.op);
    names_[i] = {i, false};
    for (const std::uint32_t argument : node.arguments) {
      if (!is_formula_[argument])
        choices_[i].insert(choices_[i].end(), choices_[argument].begin(), choices_[argument].end());
    }
    if (node.op == Op::kIf) choices_[i].push_back(node.arguments[0]);
    if (node.op == Op::kTruth) {
      names_[i] = {kConstant, query.text(node) != "true"};
    } else if (node.op == Op::kNot) {
      names_[i] = names_[node.arguments[0]];
      names_[i].negated = !names_[i].negated;
    } else if (is_comparison_op(node.op)) {
      if (choices_[i].empty()) names_[i] = name_of(i);
    } else if (!is_formula_[i] && choices_[i].empty()) {
      values_[i] = value({}, i);
    }
  }
}

bool QueryAtoms::is_comparison(std::uint32_t node) const {
  return is_comparison_op(query_.nodes()[node].op);
}

int QueryAtoms::truth(const Truths& truths, std::uint32_t node) const {
  const Name name = names_[node];
  const int truth = name.node == kConstant ? 1 : truths[name.node];
  return name.negated ? -truth : truth;
}

// The recursion is as deep as the query's numbers are; those without choices are known.
std::optional<QueryPolynomial> QueryAtoms::value(const Truths& truths, std::uint32_t node) const {
  if (values_[node]) return values_[node];
  const Query::Node& made = query_.nodes()[node];
  switch (made.op) {
    case Op::kUnknown: return QueryPolynomial{{{node}, 1}};
    case Op::kNumber: {
      const ExactRational number(query_.text(made));
      return number == 0 ? QueryPolynomial() : QueryPolynomial{{{}, number}};
    }
    case Op::kSum:
    case Op::kProduct: {
      QueryPolynomial result;
      if (made.op == Op::kProduct) result.emplace(QueryProduct{}, 1);
      for (const std::uint32_t argument : made.arguments) {
        const auto one = value(truths, argument);
        if (!one) return std::nullopt;
        if (made.op == Op::kProduct) {
          result = product_of(result, *one);
        } else {
          add_to(result, *one, 1);
        }
      }
      return result;
    }
    case Op::kIf: {
      const int holds = truth(truths, made.arguments[0]);
      if (holds == 0) return std::nullopt;
      return value(truths, made.arguments[holds > 0 ? 1 : 2]);
    }
    default: return std::nullopt;
  }
}

// Over the integers, a < b is b - a - 1 >= 0.
QueryFact QueryAtoms::stated(const Query::Node& comparison, const QueryPolynomial& left,
                             const QueryPolynomial& right, bool truth) const {
  const bool strict = (comparison.op == Op::kLess) == truth;
  QueryFact fact;
  add_to(fact.value, right, truth ? 1 : -1);
  add_to(fact.value, left, truth ? -1 : 1);
  if (comparison.op == Op::kEqual) {
    fact.relation = Relation::kZero;
  } else if (query_.sort() == Query::Sort::kReal) {
    fact.relation = strict ? Relation::kPositive : Relation::kNonNegative;
  } else {
    if (strict) add_to(fact.value, {{{}, 1}}, -1);
    tighten(fact);
  }
  return fact;
}

// Comparisons are equal, or negations of each other, if they say the same of one polynomial up to
// a positive factor. One without unknowns is true or false.
QueryAtoms::Name QueryAtoms::name_of(std::uint32_t comparison) {
  const Query::Node& node = query_.nodes()[comparison];
  const QueryPolynomial& left = *values_[node.arguments[0]];
  const QueryPolynomial& right = *values_[node.arguments[1]];
  QueryFact fact = stated(node, left, right, true);
  if (fact.value.empty() || fact.value.rbegin()->first.empty()) {
    const ExactRational constant = constant_of(fact.value);
    const bool holds = fact.relation == Relation::kZero          ? constant == 0
                       : fact.relation == Relation::kNonNegative ? constant >= 0
                                                                 : constant > 0;
    return {kConstant, !holds};
  }
  bool negated = false;
  if (fact.value.rbegin()->second < 0) {
    if (fact.relation == Relation::kZero) {
      for (auto& [product, coefficient] : fact.value) coefficient = -coefficient;
    } else {
      negated = true;
      fact = stated(node, left, right, false);
    }
  }
  if (query_.sort() == Query::Sort::kReal || fact.relation == Relation::kZero) {
    const ExactRational leading = fact.value.rbegin()->second;
    for (auto& [product, coefficient] : fact.value) coefficient /= leading;
  }
  const auto [known, is_new] =
      comparisons_.emplace(std::pair(static_cast<int>(fact.relation), fact.value), comparison);
  if (is_new) return {comparison, false};
  // The first one may itself state the negation of what is kept of it.
  const Query::Node& first = query_.nodes()[known->second];
  const QueryFact kept =
      stated(first, *values_[first.arguments[0]], *values_[first.arguments[1]], true);
  const bool first_negated = fact.relation != Relation::kZero && kept.value.rbegin()->second < 0;
  return {known->second, negated != first_negated};
}

std::optional<QueryFact> QueryAtoms::fact(const Truths& truths, std::uint32_t comparison,
                                          bool truth) const {
  const Query::Node& node = query_.nodes()[comparison];
  if (node.op == Op::kEqual && !truth) return std::nullopt;
  const auto left = value(truths, node.arguments[0]);
  const auto right = value(truths, node.arguments[1]);
  if (!left || !right) return std::nullopt;
  return stated(node, *left, *right, truth);
}

std::optional<QueryPolynomial> QueryAtoms::difference(const Truths& truths,
                                                      std::uint32_t equation) const {
  auto fact = this->fact(truths, equation, true);
  if (!fact) return std::nullopt;
  return std::move(fact->value);
}

void QueryCase::set(std::uint32_t node, bool truth) {
  const QueryAtoms::Name name = atoms_->name(node);
  const int value = truth != name.negated ? 1 : -1;
  if (name.node == QueryAtoms::kConstant) {
    contradictory_ = contradictory_ || value < 0;
    return;
  }
  std::int8_t& known = truths_[name.node];
  contradictory_ = contradictory_ || known == -value;
  if (known == 0) known = static_cast<std::int8_t>(value);
}

// From arguments to the formula and back. Each round fixes a truth, so the rounds end.
void QueryCase::conclude() {
  for (bool changed = true; changed && !contradictory_;) {
    changed = false;
    for (std::uint32_t node = 0; node < truths_.size() && !contradictory_; ++node)
      changed = conclude_from(node) || changed;
  }
}

bool QueryCase::conclude_from(std::uint32_t node) {
  const Query::Node& made = atoms_->query().nodes()[node];
  if (made.op != Op::kAnd && made.op != Op::kOr && made.op != Op::kImplies) return false;
  // As a disjunction: an argument makes it true by `wanted`. A conjunction is the negation of the
  // disjunction of the negated arguments.
  const auto wanted = [&](std::size_t i) {
    return made.op == Op::kAnd || (made.op == Op::kImplies && i == 0) ? -1 : 1;
  };
  const int own = made.op == Op::kAnd ? -truth(node) : truth(node);
  const auto set_own = [&](bool holds) { set(node, (made.op == Op::kAnd) != holds); };
  std::size_t open = 0;
  std::size_t last = 0;
  bool holds = false;
  for (std::size_t i = 0; i < made.arguments.size(); ++i) {
    const int argument = truth(made.arguments[i]);
    holds = holds || argument == wanted(i);
    if (argument == 0) {
      ++open;
      last = i;
    }
  }
  if (holds && own >= 0) {
    if (own == 0) set_own(true);
    return own == 0;
  }
  if (own < 0) {
    for (std::size_t i = 0; i < made.arguments.size(); ++i) set(made.arguments[i], wanted(i) < 0);
    return open > 0;
  }
  if (open == 0) {
    set_own(false);  // contradicts what was assumed of it, if anything was
    return own == 0;
  }
  if (own > 0 && open == 1) {
    set(made.arguments[last], wanted(last) > 0);
    return true;
  }
  return false;
}

std::optional<QueryFact> QueryCase::fact(std::int64_t name) const {
  if (name < 0) {
    const auto number = static_cast<std::size_t>(-1 - name);
    return number < facts_.size() ? std::optional(facts_[number]) : std::nullopt;
  }
  const auto node = static_cast<std::uint32_t>(name);
  if (name >= static_cast<std::int64_t>(truths_.size()) || !atoms_->is_comparison(node))
    return std::nullopt;
  const int known = truth(node);
  return known != 0 ? atoms_->fact(truths_, node, known > 0) : std::nullopt;
}

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
#include "rules/language/real_expressions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/operator.h"
#include "rules/language/expression_reads.h"

namespace egret::rules {

using verifier::RealTerm;
using Kind = RealTerm::Kind;

namespace {

// Sorted; those of i8 represent them.
constexpr std::array<double, 14> kWhole = {61, 67,  71,  73,  79,  83,  89,
                                           97, 101, 103, 107, 109, 113, 127};

bool is_open(const RealTerm& term) {
  if (term.kind == Kind::kUnknown) return true;
  if (term.kind == Kind::kIndex) return !term.index.is_constant();
  return std::ranges::any_of(term.arguments, is_open);
}

// Whether the value is a whole number for all numbers that are left open.
bool is_whole(const RealTerm& term) {
  if (term.kind == Kind::kIndex) return true;
  if (term.kind == Kind::kNumber) return term.number == std::trunc(term.number);
  if (term.kind == Kind::kUnknown || term.kind == Kind::kQuotient) return false;
  return std::ranges::all_of(term.arguments, is_whole);
}

bool mentions_elements(const Expr& expr) {
  return (expr.kind == Expr::Kind::kCall && expr.function->name == "splat_of") ||
         std::ranges::any_of(expr.arguments, mentions_elements);
}

bool has_unknown(const RealTerm& term) {
  return term.kind == Kind::kUnknown || std::ranges::any_of(term.arguments, has_unknown);
}

RealTerm number_term(double number) { return {.kind = Kind::kNumber, .number = number}; }
RealTerm joint(Kind kind, RealTerm a, RealTerm b) {
  RealTerm term{.kind = kind};
  term.arguments.push_back(std::move(a));
  term.arguments.push_back(std::move(b));
  return term;
}

std::optional<Kind> kind_of(std::string_view function) {
  if (function == "+") return Kind::kSum;
  if (function == "-") return Kind::kDifference;
  if (function == "*") return Kind::kProduct;
  if (function == "/") return Kind::kQuotient;
  if (function == "min") return Kind::kMinimum;
  if (function == "max") return Kind::kMaximum;
  return std::nullopt;
}

}  // namespace

StandIns::StandIns(const std::map<std::string, double, std::less<>>& reals, const OpenReals& open,
                   int salt)
    : salt_(salt) {
  std::set<double> negative;
  std::set<double> positive;
  for (const auto& [name, real] : reals) {
    if (!open.is_open(name, real)) continue;
    const bool below = real < 0 || (real == 0 && open.zero_is_negative);
    (below ? negative : positive).insert(real == 0 ? 0.0 : real);
  }
  int used = 0;
  const auto next = [&] { return (129 + 2 * ((used++ * 3 + salt * 7) % 64)) / 256.0; };
  for (const double real : positive) of_instance_[real] = next();
  for (auto real = negative.rbegin(); real != negative.rend(); ++real)
    of_instance_[*real] = -next();
}

double StandIns::unknown(double real) {
  const double number = of_instance_.at(real == 0 ? 0.0 : real);
  const auto place = std::distance(of_instance_.begin(), of_instance_.find(real == 0 ? 0.0 : real));
  numbers_.stand_ins.emplace(
      number, RealTerm{.kind = Kind::kUnknown, .name = "r" + std::to_string(place + 1)});
  return number;
}

double StandIns::stand_in(RealTerm term) {
  const auto salt = static_cast<std::size_t>(salt_);
  double number = (129 + 2 * static_cast<double>((computed_++ * 3 + 7 * salt) % 64)) / 128;
  if (is_whole(term)) number = whole(kWhole.front(), kWhole.back()).value_or(number);
  numbers_.stand_ins[number] = std::move(term);
  return number;
}

double StandIns::stand_in(RealTerm term, std::int64_t example) {
  double low = kWhole.front();
  double high = kWhole.back();
  for (const auto& [number, other] : examples_) {
    if (other < example) low = std::max(low, number);
    if (other > example) high = std::min(high, number);
  }
  const auto number = whole(low, high);
  if (!number) return stand_in(std::move(term));
  examples_.emplace_back(*number, example);
  numbers_.stand_ins[*number] = std::move(term);
  return *number;
}

// A whole number between the bounds that stands for nothing yet, from their middle on.
std::optional<double> StandIns::whole(double low, double high) const {
  std::vector<double> open;
  for (const double number : kWhole) {
    if (low <= number && number <= high && !numbers_.stand_ins.contains(number))
      open.push_back(number);
  }
  if (open.size() < 2) return std::nullopt;  // another salt could not give another one
  const std::size_t step = open.size() > 2 ? 2 : 1;
  return open[(open.size() / 2 + step * static_cast<std::size_t>(salt_)) % open.size()];
}

RealTerm StandIns::meaning(double number) const {
  if (const auto found = numbers_.stand_ins.find(number); found != numbers_.stand_ins.end())
    return found->second;
  if (const auto found = numbers_.stand_ins.find(-number); found != numbers_.stand_ins.end()) {
    if (found->second.kind == Kind::kIndex)
      return {.kind = Kind::kIndex, .index = ir::Index(0) - found->second.index};
    return joint(Kind::kProduct, number_term(-1), found->second);
  }
  return number_term(number);
}

std::optional<RealTerm> RealExpressions::meaning(const Expr& expr) {
  const auto of_value = [&](const ir::AttrValue& value) -> std::optional<RealTerm> {
    if (const auto* real = std::get_if<double>(&value))
      return std::isfinite(*real) ? std::optional(reals_.meaning(*real)) : std::nullopt;
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr) return std::nullopt;
    if (ir::is_symbolic(*integer))
      return RealTerm{.kind = Kind::kIndex, .index = ir::index_of_integer(*integer)};
    return number_term(static_cast<double>(*integer));
  };
  if (expr.kind == Expr::Kind::kAttribute) {
    const auto let = std::ranges::find(rule_.lets, expr.slot, &Rule::Let::attribute);
    if (let != rule_.lets.end()) return meaning(let->value);
  }
  if (expr.kind == Expr::Kind::kLiteral || expr.kind == Expr::Kind::kAttribute ||
      expr.kind == Expr::Kind::kSpread) {
    const auto value = evaluate(expr, environment_);
    return value ? of_value(*value) : std::nullopt;
  }
  if (expr.kind != Expr::Kind::kCall) return std::nullopt;
  const std::string_view name = expr.function->name;
  if (name == "splat_of") {
    const auto value = evaluate(expr, environment_);
    return value ? of_value(*value) : std::nullopt;
  }
  if (name == "real") {
    const auto value = evaluate(expr.arguments[0], environment_);
    return value ? of_value(*value) : std::nullopt;
  }
  if (name == "negative") {
    auto of = meaning(expr.arguments[0]);
    return of ? std::optional(joint(Kind::kProduct, number_term(-1), *std::move(of)))
              : std::nullopt;
  }
  const auto kind = kind_of(name);
  if (!kind || expr.arguments.size() != 2) return std::nullopt;
  auto a = meaning(expr.arguments[0]);
  auto b = meaning(expr.arguments[1]);
  if (!a || !b) return std::nullopt;
  // Integer division is not the quotient of reals.
  if (*kind == Kind::kQuotient && a->kind == Kind::kIndex && b->kind == Kind::kIndex)
    return std::nullopt;
  return joint(*kind, *std::move(a), *std::move(b));
}

void RealExpressions::replace_real(Expr& expr) {
  if (expr.kind != Expr::Kind::kCall || expr.function->name == "splat_of") return;
  auto term = meaning(expr);
  if (!term || !is_open(*term)) return;
  Expr literal;
  literal.value = reals_.stand_in(*std::move(term));
  literal.at = expr.at;
  expr = std::move(literal);
}

// Replaces whole(splat_of(?i)) where the elements are a size.
void RealExpressions::replace_whole(Expr& expr) {
  for (Expr& part : expr.arguments) replace_whole(part);
  if (expr.kind != Expr::Kind::kCall || expr.function->name != "whole") return;
  const auto term = meaning(expr.arguments[0]);
  if (!term || term->kind != Kind::kIndex) return;
  Expr literal;
  literal.value = ir::SymbolicScope::current()->integer_of(term->index);
  literal.at = expr.at;
  expr = std::move(literal);
}

// The recursion depth is bounded by the parser.
void RealExpressions::replace_in(Term& term) {
  for (Term& argument : term.arguments) replace_in(argument);
  for (Expr& value : term.value) replace_real(value);
  for (Term::Attr& attr : term.attrs) {
    const auto spec = std::ranges::find(term.op->attrs(), attr.name, &ir::AttrSpec::name);
    if (spec != term.op->attrs().end() && spec->kind == ir::AttrKind::kReal)
      replace_real(attr.value);
    else
      replace_whole(attr.value);
  }
}

void RealExpressions::replace_in(Rule& copy) {
  for (Rule::Let& let : copy.lets) {
    if (let.tensor >= 0) replace_in(let.term);
  }
  for (Binding& target : copy.targets) replace_in(target.term);
}

void RealExpressions::collect_facts(const Expr& condition) {
  if (condition.kind == Expr::Kind::kAnd) {
    for (const Expr& part : condition.arguments) collect_facts(part);
    return;
  }
  if (states_sign(condition)) {
    const auto slot = static_cast<std::size_t>(condition.arguments[0].slot);
    const auto splat = environment_.tensors[slot].facts->splat;
    const RealTerm number = splat ? reals_.meaning(*splat) : number_term(0);
    if (is_open(number))
      reals_.numbers().facts.push_back(
          {number_term(0), number, condition.function->name == "positive"});
    return;
  }
  if (condition.kind != Expr::Kind::kCall || condition.arguments.size() != 2) return;
  const std::string_view name = condition.function->name;
  const bool less = name == "<" || name == "<=";
  const bool greater = name == ">" || name == ">=";
  if (!less && !greater && name != "==") return;
  const auto a = meaning(condition.arguments[0]);
  const auto b = meaning(condition.arguments[1]);
  if (!a || !b) return;
  const bool open_integers = mentions_elements(condition) && (is_open(*a) || is_open(*b));
  if (!has_unknown(*a) && !has_unknown(*b) && !open_integers) return;
  auto& facts = reals_.numbers().facts;
  const bool strict = name.size() == 1;
  if (!greater) facts.push_back({*a, *b, strict});
  if (!less) facts.push_back({*b, *a, strict});
}

void RealExpressions::collect_facts() {
  for (const Expr& condition : rule_.conditions) collect_facts(condition);
}

}  // namespace egret::rules

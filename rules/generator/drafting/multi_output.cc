// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/drafting/multi_output.h"

#include <algorithm>
#include <set>

#include "rules/language/expression_parts.h"

namespace egret::rules::generator {
namespace {

std::set<int> variables(const Term& term) {
  std::set<int> slots;
  for_each_subterm(term, [&](const Term& part) {
    if (part.kind == Term::Kind::kTensor) slots.insert(part.slot);
  });
  return slots;
}

// The number that an attribute expression is: written so, or by a condition.
std::optional<std::int64_t> known_number(const Rule& rule, const Expr& expr) {
  const auto number = [](const Expr& e) -> std::optional<std::int64_t> {
    const auto* value = std::get_if<std::int64_t>(&e.value);
    if (e.kind != Expr::Kind::kLiteral || value == nullptr) return std::nullopt;
    return *value;
  };
  if (expr.kind != Expr::Kind::kAttribute) return number(expr);
  for (const Expr& condition : rule.conditions) {
    if (condition.kind != Expr::Kind::kCall || condition.function->name != "==") continue;
    const Expr& left = condition.arguments[0];
    if (left.kind == Expr::Kind::kAttribute && left.slot == expr.slot)
      return number(condition.arguments[1]);
  }
  return std::nullopt;
}

bool mentions(const Expr& expr, int attribute) {
  bool found = false;
  for_each_part(expr, [&](const Expr& part) {
    found = found || (part.kind == Expr::Kind::kAttribute && part.slot == attribute);
  });
  return found;
}

// `expr` with an attribute variable replaced by a number.
void replace(Expr& expr, int attribute, std::int64_t number) {
  if (expr.kind == Expr::Kind::kAttribute && expr.slot == attribute) expr = literal(number);
  for (Expr& part : expr.arguments) replace(part, attribute, number);
}
void replace(Term& term, int attribute, std::int64_t number) {
  for (Term::Attr& attr : term.attrs) replace(attr.value, attribute, number);
  for (Term& argument : term.arguments) replace(argument, attribute, number);
}

Term part_of(int whole, std::int64_t axis, Expr start, Expr size) {
  Term slice{.kind = Term::Kind::kApply, .op = &ir::get_operator("slice")};
  slice.attrs.push_back({"axis", literal(axis)});
  slice.attrs.push_back({"start", std::move(start)});
  slice.attrs.push_back({"size", std::move(size)});
  slice.arguments.push_back({.kind = Term::Kind::kTensor, .slot = whole});
  return slice;
}

}  // namespace

std::optional<Rule> two_output_rule(const Rule& rule) {
  const Term& joined = rule.sources.front().term;
  if (rule.sources.size() != 1 || joined.op == nullptr || joined.op->name() != "concat" ||
      joined.arguments.size() != 2 || joined.attrs.size() != 1)
    return std::nullopt;
  const Term& first = joined.arguments[0];
  const Term& second = joined.arguments[1];
  if (first.kind != Term::Kind::kApply || second.kind != Term::Kind::kApply) return std::nullopt;
  const std::set<int> of_first = variables(first);
  const std::set<int> of_second = variables(second);
  const bool share =
      std::ranges::any_of(of_first, [&](int slot) { return of_second.contains(slot); });
  const std::optional<std::int64_t> axis = known_number(rule, joined.attrs.front().value);
  if (!share || of_first == of_second || !axis) return std::nullopt;

  Rule split;
  split.name = rule.name + "-parts";
  split.tensors = rule.tensors;
  split.attributes = rule.attributes;
  split.spreads = rule.spreads;
  const auto named = [&](const char* name) {
    split.tensors.emplace_back(name);
    return static_cast<int>(split.tensors.size()) - 1;
  };
  const int p = rule.sources.front().tensor;
  split.tensors[static_cast<std::size_t>(p)] = "p";  // was the output
  const int q = named("q");
  const int whole = named("m");
  split.sources = {{p, first}, {q, second}};
  split.lets.push_back({.tensor = whole, .term = rule.targets.front().term});
  const Expr& written = joined.attrs.front().value;
  const int attribute = written.kind == Expr::Kind::kAttribute ? written.slot : -1;
  for (const Expr& condition : rule.conditions) {
    Expr kept = condition;
    if (attribute >= 0) replace(kept, attribute, *axis);
    const bool says_axis = attribute >= 0 && mentions(condition, attribute) &&
                           condition.function->name == "==" &&
                           condition.arguments[0].kind == Expr::Kind::kAttribute;
    if (!says_axis) split.conditions.push_back(std::move(kept));
  }
  if (attribute >= 0) replace(split.lets.front().term, attribute, *axis);
  const Expr size_of_first = call("dim", {tensor(p), literal(*axis)});
  split.heuristics.push_back(call("before", {tensor(p), tensor(q)}));
  split.targets = {
      {p, part_of(whole, *axis, literal(std::int64_t{0}), size_of_first)},
      {q, part_of(whole, *axis, size_of_first, call("dim", {tensor(q), literal(*axis)}))}};
  return split;
}

}  // namespace egret::rules::generator

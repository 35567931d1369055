// SPDX-License-Identifier: Apache-2.0
#include "rules/language/number_decisions.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "rules/language/attribute_pattern.h"

namespace egret::rules {
namespace {

using Kind = Expr::Kind;

bool is_one_of(const Expr& expr, std::span<const std::string_view> names) {
  return expr.kind == Kind::kCall && std::ranges::find(names, expr.function->name) != names.end();
}
constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
constexpr std::string_view kOtherDecisions[] = {"not", "contains", "index_of"};

class Search {
 public:
  explicit Search(const Rule& rule) : rule_(rule) {
    for (const Binding& source : rule.sources) {
      for_each_subterm(source.term, [&](const Term& term) { note_reals(term); });
    }
    // A named expression of open numbers is one; names come before their uses.
    for (const Rule::Let& let : rule.lets) {
      if (let.attribute >= 0 && !numbers_in(let.value).empty()) reals_.insert(let.attribute);
    }
  }

  NumberDecisions run() {
    for (const Expr& condition : rule_.conditions) in_condition(condition);
    for (const Rule::Let& let : rule_.lets) {
      if (let.attribute >= 0) in_expression(let.value);
      if (let.tensor >= 0) in_term(let.term);
    }
    for (const Binding& target : rule_.targets) in_term(target.term);
    found_.of.assign(of_.begin(), of_.end());
    found_.landmarks = with_neighbours({literals_.begin(), literals_.end()});
    return std::move(found_);
  }

 private:
  void note_reals(const Term& term) {
    if (term.kind != Term::Kind::kApply) return;
    for (const ir::AttrSpec& spec : term.op->attrs()) {
      if (spec.kind != ir::AttrKind::kReal) continue;
      const Expr* pattern = pattern_of(term, spec.name);
      if (pattern != nullptr && pattern->kind == Kind::kAttribute) reals_.insert(pattern->slot);
      if (pattern == nullptr && term.spread >= 0) captured_.emplace(term.spread, spec.name);
    }
  }

  // The open numbers that an expression mentions.
  std::set<std::string> numbers_in(const Expr& expr) const {
    std::set<std::string> numbers;
    for_each_part(expr, [&](const Expr& part) {
      const bool is_real = part.kind == Kind::kAttribute && reals_.contains(part.slot);
      const bool is_captured =
          part.kind == Kind::kSpread && captured_.contains({part.slot, part.name});
      const bool is_element = part.kind == Kind::kCall && part.function->name == "splat_of";
      if (is_real || is_captured || is_element) numbers.insert(to_string(rule_, part));
    });
    return numbers;
  }

  void note(const Expr& decision) {
    const std::set<std::string> numbers = numbers_in(decision);
    if (numbers.empty()) return;
    of_.insert(numbers.begin(), numbers.end());
    for_each_part(decision, [&](const Expr& part) {
      if (part.kind != Kind::kLiteral) return;
      if (const auto* real = std::get_if<double>(&part.value)) literals_.insert(*real);
      if (const auto* whole = std::get_if<std::int64_t>(&part.value))
        literals_.insert(static_cast<double>(*whole));
    });
  }

  // A comparison that must hold is a fact, if it decides nothing inside.
  void in_condition(const Expr& condition) {
    if (condition.kind == Kind::kAnd) {
      for (const Expr& part : condition.arguments) in_condition(part);
    } else if (is_one_of(condition, kComparisons)) {
      for (const Expr& side : condition.arguments) in_expression(side);
    } else {
      note_finite(condition);
      in_expression(condition);
    }
  }

  void in_expression(const Expr& expr) {
    for_each_part(expr, [&](const Expr& part) {
      if (part.kind == Kind::kIf) note(part.arguments[0]);
      if (part.kind == Kind::kAnd || part.kind == Kind::kOr || is_one_of(part, kComparisons) ||
          is_one_of(part, kOtherDecisions))
        note(part);
    });
  }

  void in_term(const Term& term) {
    for_each_subterm(term, [&](const Term& part) {
      for (const Term::Attr& attr : part.attrs) in_expression(attr.value);
      for (const Expr& value : part.value) in_expression(value);
    });
  }

  // contains([1, 2, 4], splat_of(?c)), or of whole(splat_of(?c)).
  void note_finite(const Expr& condition) {
    if (condition.kind != Kind::kCall || condition.function->name != "contains" ||
        !is_constant(condition.arguments[0]))
      return;
    const Expr* element = &condition.arguments[1];
    if (element->kind == Kind::kCall && element->function->name == "whole")
      element = &element->arguments[0];
    if (element->kind != Kind::kCall || element->function->name != "splat_of") return;
    Environment nothing;
    const auto list = evaluate(condition.arguments[0], nothing);
    const auto* numbers = list ? std::get_if<ir::Integers>(&*list) : nullptr;
    if (numbers == nullptr) return;
    std::vector<double>& all =
        found_.finite[rule_.tensors[static_cast<std::size_t>(element->arguments[0].slot)]];
    for (const std::int64_t number : *numbers) all.push_back(static_cast<double>(number));
  }

  const Rule& rule_;
  std::set<int> reals_;                             // attribute variables
  std::set<std::pair<int, std::string>> captured_;  // by spread
  std::set<std::string> of_;
  std::set<double> literals_;
  NumberDecisions found_;
};

}  // namespace

NumberDecisions number_decisions(const Rule& rule) { return Search(rule).run(); }

std::vector<double> with_neighbours(std::vector<double> numbers) {
  if (numbers.empty()) return {};
  std::ranges::sort(numbers);
  std::vector<double> all{numbers.front() - 1};
  for (const double number : numbers) {
    if (number != numbers.front()) all.push_back((all.back() + number) / 2);
    all.push_back(number);
  }
  all.push_back(numbers.back() + 1);
  return all;
}

}  // namespace egret::rules

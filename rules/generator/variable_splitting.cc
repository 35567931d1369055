// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/variable_splitting.h"

#include <algorithm>
#include <cctype>

#include "rules/testing/tester.h"

namespace egret::rules::generator {
namespace {

int occurrences(const Term& term, int slot) {
  int count = 0;
  for_each_subterm(term, [&](const Term& part) {
    count += part.kind == Term::Kind::kTensor && part.slot == slot ? 1 : 0;
  });
  return count;
}

// Renames those occurrences, counted from the left, whose bit is set.
void rename(Term& term, int slot, int fresh, unsigned which, unsigned& at) {
  if (term.kind == Term::Kind::kTensor && term.slot == slot) {
    if ((which >> at & 1U) != 0) term.slot = fresh;
    ++at;
  }
  for (Term& argument : term.arguments) rename(argument, slot, fresh, which, at);
}

bool mentions(const Expr& expr, int slot) {
  bool found = false;
  for_each_part(expr, [&](const Expr& part) {
    found = found || (part.kind == Expr::Kind::kTensor && part.slot == slot);
  });
  return found;
}

void replace(Expr& expr, int slot, int fresh) {
  if (expr.kind == Expr::Kind::kTensor && expr.slot == slot) expr.slot = fresh;
  for (Expr& part : expr.arguments) replace(part, slot, fresh);
}

// ?x2 -> ?x3, the first number that is free.
std::string fresh_name(const Rule& rule, std::string name) {
  while (std::isdigit(static_cast<unsigned char>(name.back())) != 0) name.pop_back();
  for (int i = 0;; ++i) {
    std::string next = name + std::to_string(i);
    if (std::ranges::find(rule.tensors, next) == rule.tensors.end()) return next;
  }
}

Rule with_split(const Rule& rule, int slot, unsigned left, unsigned right, bool one_type) {
  Rule split = rule;
  const int fresh = static_cast<int>(split.tensors.size());
  split.tensors.push_back(fresh_name(rule, rule.tensors[static_cast<std::size_t>(slot)]));
  unsigned at = 0;
  rename(split.sources.front().term, slot, fresh, left, at);
  at = 0;
  rename(split.targets.front().term, slot, fresh, right, at);
  for (const Expr& condition : rule.conditions) {
    if (!mentions(condition, slot)) continue;
    split.conditions.push_back(condition);
    replace(split.conditions.back(), slot, fresh);
  }
  if (one_type) {
    Expr same{.kind = Expr::Kind::kCall, .function = find_function("same_type")};
    same.arguments.push_back({.kind = Expr::Kind::kTensor, .slot = slot});
    same.arguments.push_back({.kind = Expr::Kind::kTensor, .slot = fresh});
    split.conditions.push_back(std::move(same));
  }
  return split;
}

bool survives_a_few_tests(const Rule& rule, KnownOperators& known) {
  const TestOptions few{.checks = 10, .attempts_per_check = 10, .seed = 3};
  const TestReport report = test_rule(rule, few, known);
  return report.verdict != TestReport::Verdict::kRefuted && report.checks >= 3;
}

}  // namespace

bool split_variables(Rule& rule, Verdict& verdict, const Judge& judge, KnownOperators& known) {
  const auto split_once = [&] {
    for (int slot = 0; slot < static_cast<int>(rule.tensors.size()); ++slot) {
      const int left = occurrences(rule.sources.front().term, slot);
      const int right = occurrences(rule.targets.front().term, slot);
      if (!rule.is_variable(slot) || left < 2 || left > 4 || right > 4) continue;
      for (int occurrence = 1; occurrence < left; ++occurrence) {
        for (unsigned to_right = 0; to_right < (1U << right); ++to_right) {
          for (const bool one_type : {false, true}) {
            Rule split = with_split(rule, slot, 1U << occurrence, to_right, one_type);
            if (!survives_a_few_tests(split, known)) continue;
            Verdict of_split = judge(split);
            if (of_split.status != Verdict::Status::kProven) continue;
            rule = std::move(split);
            verdict = std::move(of_split);
            return true;
          }
        }
      }
    }
    return false;
  };
  bool any = false;
  while (split_once()) any = true;
  return any;
}

}  // namespace egret::rules::generator

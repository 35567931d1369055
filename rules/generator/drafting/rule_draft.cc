// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/drafting/rule_draft.h"

#include <utility>

#include "rules/generator/drafting/draft_facts.h"
#include "rules/generator/drafting/left_quantities.h"
#include "rules/generator/drafting/left_side.h"
#include "rules/generator/drafting/right_side.h"
#include "rules/language/expression_parts.h"

namespace egret::rules::generator {
namespace {

bool has_left_side(const TermTable& terms, const Equality& equality) {
  const Variables missing = terms.variables(equality.right) & ~terms.variables(equality.left);
  return missing == 0 && !terms.is_start(equality.left);
}

std::vector<Expr> rank_conditions(const TermTable& terms, const LeftSide& left) {
  std::vector<Expr> conditions;
  for (const auto& [start, slot] : left.slots) {
    const std::int64_t rank = rank_of_start(terms, start);
    conditions.push_back(equal(call("rank", {tensor(slot)}), literal(rank)));
  }
  return conditions;
}

Rule rule_of(LeftSide left, Term right) {
  Rule rule;
  rule.name = "candidate";
  rule.tensors = std::move(left.tensors);
  rule.attributes = std::move(left.attributes);
  rule.sources.push_back({0, std::move(left.term)});
  rule.targets.push_back({0, std::move(right)});
  return rule;
}

}  // namespace

std::optional<Draft> draft_rule(TermTable& terms, const Equality& equality, Openness openness,
                                Preference preference) {
  if (!has_left_side(terms, equality)) return std::nullopt;
  LeftSide left = write_left_side(terms, equality, openness);
  const Quantities quantities = quantities_of(terms, left, preference);
  std::optional<Term> right = write_right_side(terms, equality.right, left, quantities);
  if (!right) return std::nullopt;

  Draft draft;
  AttributeFacts attributes = attribute_facts(left, quantities);
  draft.alternatives = std::move(attributes.alternatives);
  draft.first_world = std::move(attributes.first_world);
  draft.facts = size_facts(terms, left);
  draft.same_types = same_type_facts(terms, left);
  draft.apart = distinct_axes(left);
  if (!left.slots.empty()) draft.is_float = call("is_float", {tensor(left.slots.begin()->second)});
  std::vector<Expr> ranks;
  if (openness != Openness::kRanks) ranks = rank_conditions(terms, left);
  draft.rule = rule_of(std::move(left), *std::move(right));
  draft.rule.conditions = std::move(ranks);
  return draft;
}

}  // namespace egret::rules::generator

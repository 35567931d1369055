// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/admitted_rules.h"

#include <algorithm>
#include <utility>

#include "rules/tensors/compile.h"

namespace egret::rules {

using base::Result;

Result<AdmittedRules> AdmittedRules::select(std::string_view selection, std::string_view allow) {
  const auto least = parse_rule_status(allow);
  if (!least) return base::usage_error("invalid value of --allow: '" + std::string(allow) + "'");
  EGRET_ASSIGN_OR_RETURN(RuleSet set, select_rules(selection));
  EGRET_ASSIGN_OR_RETURN(RuleStatuses statuses, statuses_of(set));
  return admit(std::move(set), std::move(statuses), *least);
}

Result<AdmittedRules> AdmittedRules::admit(RuleSet set, RuleStatuses statuses, RuleStatus least) {
  EGRET_RETURN_IF_ERROR(require_status(set, statuses, least));
  return AdmittedRules(std::move(set), std::move(statuses));
}

std::string AdmittedRules::status_of(std::string_view name) const {
  const auto rule = std::ranges::find(set_.rules, name, &Rule::name);
  if (rule == set_.rules.end()) return "dynamic";
  return std::string(to_string(statuses_.of(*rule)));
}

std::string AdmittedRules::limit_of(std::string_view name) const {
  const auto rule = std::ranges::find(set_.rules, name, &Rule::name);
  if (rule == set_.rules.end()) return "";
  const RuleLimit limit = statuses_.limit_of(*rule);
  return limit.is_none() ? "" : to_string(limit);
}

std::vector<std::string> AdmittedRules::not_proven() const {
  std::vector<std::string> names;
  for (const Rule& rule : set_.rules) {
    if (statuses_.of(rule) != RuleStatus::kProven) names.push_back(rule.name);
  }
  return names;
}

std::vector<std::string> allow_names() { return {"proven", "bounded", "tested", "untested"}; }

std::vector<CompiledRule> compile(const AdmittedRules& rules, TensorEGraph& tensors) {
  std::vector<CompiledRule> compiled;
  for (const Rule& rule : rules.set().rules)
    compiled.push_back(
        compile(rule, tensors, Integers::kOfFixedWidth, rules.statuses().limit_of(rule)));
  for (CompiledRule& dynamic : compile(RuleSet{{}, rules.set().dynamic}, tensors))
    compiled.push_back(std::move(dynamic));
  return compiled;
}

}  // namespace egret::rules

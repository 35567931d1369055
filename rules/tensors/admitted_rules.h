// SPDX-License-Identifier: Apache-2.0
// The rules with which a program may be rewritten: each has at least the certainty asked for.
//
// Outside rules/ this is the only way from a selection of rules to compiled rules
// (scripts/check_layers.py rejects an include of rules/tensors/compile.h elsewhere). Hence no verb
// can run a rule that another one refuses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"
#include "rules/tensors/saturate.h"

namespace egret::rules {

class AdmittedRules {
 public:
  // The rules that `selection` names (select_rules()). `allow` names the least status that each
  // rule must have by statuses_of(): "proven" unless the user accepts less. Errors:
  // usage_error for unknown names, and for rules below that status, which it names.
  static base::Result<AdmittedRules> select(std::string_view selection,
                                            std::string_view allow = "proven");
  static base::Result<AdmittedRules> admit(RuleSet set, RuleStatuses statuses, RuleStatus least);

  const RuleSet& set() const { return set_; }
  std::size_t size() const { return set_.size(); }
  // "proven", "tested", ...; "dynamic" for a rule that holds by construction.
  std::string status_of(std::string_view rule) const;
  // The ranks for which it is proven, as text; empty: no limit. A rule runs only within its limit.
  std::string limit_of(std::string_view rule) const;
  const RuleStatuses& statuses() const { return statuses_; }
  // The names of admitted rules that are not proven.
  std::vector<std::string> not_proven() const;

 private:
  AdmittedRules(RuleSet set, RuleStatuses statuses)
      : set_(std::move(set)), statuses_(std::move(statuses)) {}

  RuleSet set_;
  RuleStatuses statuses_;
};

// The values of `allow`, and the help text of options that set it.
std::vector<std::string> allow_names();
inline constexpr std::string_view kAllowHelp =
    "Run only rules with at least this status: proven for all sizes, bounded (proven for sizes up "
    "to a bound), tested on random tensors, or untested (unsafe)";
// The help of options that select rules to run.
inline constexpr std::string_view kRulesHelp =
    "Rules to run: sets, tags, names, globs or files, separated by commas; a later ,+NAME keeps "
    "only rules that match NAME, and ,-NAME removes them";

// Compiles the rules for an e-graph: rules first, then dynamic rules, in the set's order.
std::vector<CompiledRule> compile(const AdmittedRules& rules, TensorEGraph& tensors);

}  // namespace egret::rules

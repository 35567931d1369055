// SPDX-License-Identifier: Apache-2.0
#include "driver/select/rule_count.h"

#include <algorithm>

#include "base/formats/units.h"

namespace egret::driver {

std::string proof_text(const rules::RuleStatuses::Entry& entry) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const bool proven = entry.status == rules::RuleStatus::kProven;
  if (entry.families > 0) {
    add(base::counted(entry.families, "family", "families") + " of instances" +
        (proven ? " proven for all sizes" : ""));
  }
  if (entry.bound > 0 && !proven)
    add("checked for all sizes up to " + base::format_count(entry.bound));
  if (entry.axes >= 0)
    add("all small instances of up to " + base::counted(entry.axes, "axis", "axes") +
        " belong to them");
  if (entry.checks > 0) add(base::counted(entry.checks, "random instance") + " tested");
  return text;
}

RuleCount rule_count(const rules::AdmittedRules& rules, std::string_view name,
                     std::uint64_t count) {
  RuleCount result{.name = std::string(name),
                   .count = count,
                   .status = rules.status_of(name),
                   .limit = rules.limit_of(name)};
  const auto& all = rules.set().rules;
  if (const auto rule = std::ranges::find(all, name, &rules::Rule::name); rule != all.end()) {
    result.meaning = rule->doc;
    result.text = to_string(*rule);
    if (const auto* entry = rules.statuses().find(content_hash(*rule)))
      result.proof = proof_text(*entry);
    return result;
  }
  const auto& dynamic = rules.set().dynamic;
  const auto found = std::ranges::find(dynamic, name, &rules::DynamicRule::name);
  if (found != dynamic.end()) result.meaning = (*found)->help;
  return result;
}

}  // namespace egret::driver

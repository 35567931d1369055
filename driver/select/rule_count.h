// SPDX-License-Identifier: Apache-2.0
// A rule that contributed to a graph, with what is known of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rules/tensors/admitted_rules.h"

namespace egret::driver {

struct RuleCount {
  std::string name;
  // Nodes of the result that the rule made; of a search over whole graphs, its applications on the
  // way to the result.
  std::uint64_t count = 0;
  std::string status{};   // "proven", "tested", "dynamic"
  std::string limit{};    // the ranks for which it is proven and may run; empty: all
  std::string meaning{};  // in words; may be empty
  std::string text{};     // in the rule language; empty for a dynamic rule
  std::string proof{};    // its extent: "12 families of instances, ..."; empty without a proof
};

// `rules` has a rule of this name.
RuleCount rule_count(const rules::AdmittedRules& rules, std::string_view name, std::uint64_t count);

// "12 families of instances, all instances of up to 4 axes, 10,000 random instances".
std::string proof_text(const rules::RuleStatuses::Entry& entry);

}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
// A set of rules with what is known of each, as Python holds it.
#pragma once

#include "driver/optimize.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"

namespace egret::python {

struct Rules {
  rules::RuleSet set;
  rules::RuleStatuses statuses;  // those that come with Egret, and those of verify()
};

// Lets optimize() run these rules. Raises egret.Usage if one of them is known less well than
// `how.allow` asks for.
void admit(const Rules& rules, driver::OptimizeOptions& how);

}  // namespace egret::python

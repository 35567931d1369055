// SPDX-License-Identifier: Apache-2.0
// Enters results of tests and proofs into the rules' statuses.
#pragma once

#include "rules/language/rule.h"
#include "rules/proving/verification.h"
#include "rules/tensors/rule_status.h"
#include "rules/testing/tester.h"

namespace egret::rules {

// The ranks for which a rule is proven. A rule over elementwise operators has no limit, not even of
// kinds that are not covered at rank 0, since these differ in element types alone.
RuleLimit limit_of(const Verdict& verdict);

void record(RuleStatuses& statuses, const Rule& rule, const TestReport& report);
void record(RuleStatuses& statuses, const Rule& rule, const Verdict& verdict);

}  // namespace egret::rules

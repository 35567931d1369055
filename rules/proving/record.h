// SPDX-License-Identifier: Apache-2.0
// Enters results of tests and proofs into the rules' statuses.
#pragma once

#include <map>
#include <set>
#include <string>

#include "rules/language/rule.h"
#include "rules/proving/verification.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"
#include "rules/testing/tester.h"

namespace egret::rules {

// The ranks for which a rule is proven. A rule over elementwise operators has no limit, not even of
// kinds that are not covered at rank 0, since these differ in element types alone.
RuleLimit limit_of(const Verdict& verdict);

void record(RuleStatuses& statuses, const Rule& rule, const TestReport& report);
void record(RuleStatuses& statuses, const Rule& rule, const Verdict& verdict);

// The statuses beside the rule files of a set (status_file_of()), to which verdicts are added.
class StatusFiles {
 public:
  // Reads those that exist, without entries of rules that their files no longer have.
  static base::Result<StatusFiles> open(const RuleSet& set);
  // To each file that has the rule, under whatever name. Rules from elsewhere are ignored.
  void add(const Rule& rule, const Verdict& verdict);
  // Replaces the files of rules that were added to. Errors: of writing.
  base::Status write();

 private:
  struct File {
    RuleStatuses statuses;
    std::set<base::ContentHash> rules{};
    bool changed = false;
  };
  std::map<std::string, File> files_;  // by path of the rules
};

}  // namespace egret::rules

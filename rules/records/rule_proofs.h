// SPDX-License-Identifier: Apache-2.0
// Which rules are proven, by the hash of their meaning, as files of statuses say
// (rules/tensors/rule_status.h). A proof rests on the definitions of operators: it does not count
// if one of them has changed.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "rules/records/rule_limit.h"

namespace egret::rules {

struct RuleProof {
  std::string status = "untested";
  RuleLimit limit{};
};
using RuleProofs = std::map<std::string, RuleProof>;

// Errors: bad_input that names the rule's hash.
base::Result<RuleProofs> read_proofs(std::string_view json);
// Adds what is not known yet. A refutation counts more than a proof, and a proof more than the
// rest.
void add_proofs(RuleProofs& known, const RuleProofs& more);

}  // namespace egret::rules

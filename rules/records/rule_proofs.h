// SPDX-License-Identifier: Apache-2.0
// Which rules are proven, by the hash of their meaning, as files of statuses say
// (rules/tensors/rule_status.h). A proof rests on the definitions of operators: it does not count
// if one of them has changed.
#pragma once

#include <map>
#include <span>
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

// Of all rules, or of those whose hashes are the keys of `only`. Reads the definitions of those
// operators alone that a proof rests on, because that takes most of the time. Errors: bad_input
// that names the rule's hash.
base::Result<RuleProofs> read_proofs(std::string_view json,
                                     const std::map<std::string, std::string>* only = nullptr);
// The same of several documents.
base::Result<RuleProofs> read_proofs(std::span<const std::string_view> documents,
                                     const std::map<std::string, std::string>* only);
// Adds what is not known yet. A refutation counts more than a proof, and a proof more than the
// rest.
void add_proofs(RuleProofs& known, const RuleProofs& more);

}  // namespace egret::rules

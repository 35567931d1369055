// SPDX-License-Identifier: Apache-2.0
// The rules that a replay of certificates may use: those that are known as proven, found by the
// hash of their meaning.
//
// An instance is built from the rule's text alone. The rule is proven for all sizes within its
// limit; the limit, the attributes and all conditions are evaluated for the sizes at hand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rules/language/rule.h"
#include "rules/records/rule_proofs.h"
#include "verifier/replay/certificate.h"
#include "verifier/replay/rule_book.h"

namespace egret::rules {

class RuleLibrary final : public verifier::RuleBook {
 public:
  // The rules that come with Egret, and those of `files`, each with the statuses of
  // FILE.status.json. Given `only`, others of Egret's may be missing: reading all takes longer than
  // replaying a small certificate. Errors: those of reading rules and statuses.
  static base::Result<RuleLibrary> read(
      const std::vector<std::string>& files = {},
      const std::vector<verifier::Certificate::Rule>* only = nullptr);
  // Adds rules, whose proofs are among these.
  void add(std::vector<Rule> rules, const RuleProofs& proofs);

  base::Result<verifier::RuleSides> instance(const std::string& hash,
                                             const verifier::RuleApplication& application,
                                             verifier::ReplayTerms& terms) const override;

  // The tensor variables of a rule, by slot, in the order of a substitution.
  static std::vector<int> variables_of(const Rule& rule);
  // The applications of its sources whose operators have attributes, in the order of
  // RuleApplication::operators: children first.
  static std::vector<const Term*> captures_of(const Rule& rule);

 private:
  struct Known {
    Rule rule;
    RuleProof proof;
  };
  std::map<std::string, Known> rules_;  // by hash in hex
};

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// What the replay of certificates needs to know of rules. The replay itself knows no rule language.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "verifier/replay/replay_terms.h"

namespace egret::verifier {

struct RuleApplication {
  std::uint32_t equation = 0;
  std::span<const TermRef> substitution;  // of the rule's variables, in the rule's order
  std::span<const SymbolRef> operators;   // of the sources' operators with attributes
};

struct RuleSides {
  TermRef left;
  TermRef right;
};

class RuleBook {
 public:
  virtual ~RuleBook() = default;

  // The two sides of a proven rule's equation. Errors: mismatch for a hash of no rule that is
  // known as proven, and for an application that the rule or its proof does not cover, with the
  // reason.
  virtual base::Result<RuleSides> instance(const std::string& hash,
                                           const RuleApplication& application,
                                           ReplayTerms& terms) const = 0;
};

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
// Steps of a certificate under construction: each once, over terms of a replay.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "verifier/replay/certificate.h"
#include "verifier/replay/replay_terms.h"

namespace egret::rules {

class StepTable {
 public:
  using Step = verifier::Certificate::Step;
  // The number of a step, or verifier::Certificate::kReflexive.
  using StepNumber = std::int64_t;

  explicit StepTable(verifier::ReplayTerms& terms) : terms_(terms) {}

  // Rules by hash; `name` is for people.
  std::uint32_t rule(const std::string& name, const std::string& hash);
  // A step whose sides, terms and operators are numbers of the replay's terms and symbols.
  StepNumber add(Step step);
  StepNumber symmetry(StepNumber of);
  StepNumber chain(std::span<const StepNumber> steps);
  StepNumber congruence(verifier::TermRef left, verifier::TermRef right,
                        std::vector<StepNumber> premises);

  // The certificate of these outputs, with what their proofs need and nothing else. `known`: the
  // content hashes of constants that the programs have; others are written with their value.
  // Errors: unsupported for such a constant of another rank than 0.
  base::Result<verifier::Certificate> certificate(
      const std::vector<verifier::Certificate::Output>& outputs,
      const std::map<std::string, bool>& known) const;

 private:
  verifier::ReplayTerms& terms_;
  std::vector<verifier::Certificate::Rule> rules_;
  std::map<std::string, std::uint32_t> rule_index_;
  std::vector<Step> steps_;
  std::map<std::vector<std::int64_t>, StepNumber> index_;  // by content
};

}  // namespace egret::rules

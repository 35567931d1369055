// SPDX-License-Identifier: Apache-2.0
// Steps from one term to another that differs from it only in what folding and export change:
// constants in place of terms of constants, and bodies in place of composite operators.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "rules/certificates/step_table.h"
#include "verifier/replay/code_steps.h"
#include "verifier/replay/replay.h"

namespace egret::rules {

class ProgramAlignment {
 public:
  ProgramAlignment(verifier::ReplayTerms& terms, StepTable& steps)
      : terms_(terms), steps_(steps), code_(terms), folded_(terms) {}

  // Proves left = right. Errors: mismatch that names the terms that differ otherwise. Each pair is
  // proven once.
  base::Result<StepTable::StepNumber> prove(verifier::TermRef left, verifier::TermRef right);

 private:
  using Pair = std::pair<verifier::TermRef, verifier::TermRef>;
  enum class Way : unsigned char { kSame, kFold, kOperands, kExpandLeft, kExpandRight };
  base::Result<Way> way_of(const Pair& pair);
  base::Result<StepTable::StepNumber> fold(const Pair& pair);
  base::Result<StepTable::StepNumber> finish(const Pair& pair, Way way);
  StepTable::StepNumber expansion(verifier::TermRef composite, verifier::TermRef body);

  verifier::ReplayTerms& terms_;
  StepTable& steps_;
  verifier::CodeSteps code_;
  verifier::FoldedTerms folded_;
  std::map<Pair, StepTable::StepNumber> proven_;
};

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// Decides the candidates of one level: each becomes a rule, is derived by rules found before it, or
// stays unproven.
//
// Level by level a generation handles thousands of candidates, most of which follow from a few.
// They are decided in rounds: candidates that follow from what was found so far are dropped, all
// in one e-graph; then the first few of the rest are proven, in waves
// (rules/generator/candidate_waves.h).
#pragma once

#include <vector>

#include "base/progress.h"
#include "rules/generator/candidate.h"
#include "rules/generator/derivation.h"
#include "rules/generator/findings.h"
#include "rules/generator/logged_prover.h"
#include "rules/generator/proof_queue.h"

namespace egret::rules::generator {

// What the steps of a generation share.
struct Deciding {
  TermTable& terms;
  const DerivationOptions& derivation;
  LoggedProver& prover;
  ProofQueue& proofs;  // of `prover`
  base::ProgressSink* progress;
};

// `candidates` are sorted by comes_first(). Ends early, with what was decided, on
// base::stop_requested().
void decide_level(const Deciding& deciding, std::vector<Candidate> candidates,
                  std::size_t operators, Findings& findings);

}  // namespace egret::rules::generator

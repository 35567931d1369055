// SPDX-License-Identifier: Apache-2.0
// Which candidates are proven next. The proofs of a wave run side by side, and the next wave is
// chosen and begun meanwhile. What a wave finds is recorded in its order, so the rules that are
// found do not depend on the number of threads.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rules/generator/candidate.h"
#include "rules/generator/derivation.h"
#include "rules/generator/findings.h"
#include "rules/generator/proof_queue.h"

namespace egret::rules::generator {

// A candidate whose proof was begun.
struct Job {
  Candidate candidate;
  std::string shape;      // shape_of
  std::string operators;  // operators_of
};

struct Wave {
  std::vector<Job> jobs;
  std::size_t rules_found = 0;  // when it was chosen
};

std::vector<Equality> equalities(std::span<const Job> jobs);

// A round, divided.
struct WaveChoice {
  Wave wave;
  std::size_t derived = 0;             // by the rules that are known
  std::vector<Unresolved> unresolved;  // decided without a proof
  std::vector<Candidate> later;        // the rest of the round
};

// Takes the first few candidates that follow neither from what is known nor, in the first world,
// from one another or from those under way. Candidates with the same operators differ in tensors
// and attributes alone, so one of them probably derives the others; only one at a time is taken.
WaveChoice choose_wave(TermTable& terms, const Findings& findings,
                       const DerivationOptions& derivation, std::span<const Candidate> round,
                       std::span<const Job> under_way);

// Candidates that later waves of a round will probably have, for threads that would be idle.
class Foresight {
 public:
  Foresight(TermTable& terms, const Findings& findings, const DerivationOptions& derivation,
            ProofQueue& proofs)
      : terms_(terms), findings_(findings), derivation_(derivation), proofs_(proofs) {}

  // The first few of `after` that would be chosen if the proofs under way found nothing.
  std::vector<Equality> foresee(std::initializer_list<std::span<const Job>> under_way,
                                std::initializer_list<std::span<const Candidate>> after);

 private:
  // Whether the rules at hand do not derive the candidate. The first answer is kept for the round:
  // a wrong one costs time only.
  bool is_open(const Equality& equality, const RuleSet& at_hand);

  TermTable& terms_;
  const Findings& findings_;
  const DerivationOptions& derivation_;
  ProofQueue& proofs_;
  std::map<std::pair<TermId, TermId>, bool> open_;
};

}  // namespace egret::rules::generator

// SPDX-License-Identifier: Apache-2.0
// The generator: terms of a space are enumerated (rules/generator/spaces/enumeration.h), equal ones
// become candidates, and of these, from the smallest and most general on, each that the rules found
// so far do not derive is made a rule and proven (rules/generator/candidate_rule.h). At the end
// rules that the others derive are left out.
//
// Deterministic for a seed, with any number of threads, and when it goes on from a log of
// decisions. Each rule says when it is worth applying (rules/generator/application.h). Proofs run
// on the shared thread pool.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "rules/generator/candidate_proof.h"
#include "rules/generator/derivation.h"
#include "rules/generator/rule_score.h"
#include "rules/generator/spaces/enumeration.h"
#include "rules/tensors/rule_status.h"

namespace egret::rules::generator {

struct GenerationOptions {
  EnumerationOptions enumeration;
  CandidateScrutiny scrutiny{};
  DerivationOptions derivation;
  RuleSet given{};          // known already: derive candidates, and are no part of the result
  bool count_only = false;  // of terms and classes; no rules are made
  bool minimize = true;
  std::string score = "size";  // of rules that the others derive; see rules/generator/rule_score.h
  RuleUses uses{};
  std::string log{};  // file of decisions, to go on from when the work is cut short; empty: none
  bool keep_log = false;  // at the end: the work is part of a longer one
};

// What became of the candidates of one number of operators.
struct CandidateCount {
  std::size_t operators = 0;
  std::uint64_t candidates = 0;   // equal pairs of terms
  std::uint64_t derived = 0;      // by rules found before
  std::uint64_t proven = 0;       // without a condition on sizes or attributes
  std::uint64_t conditional = 0;  // proven with one
  std::uint64_t refuted = 0;
  std::uint64_t undecided = 0;  // and those that cannot be stated
  std::uint64_t kept = 0;       // after minimization
  double seconds = 0;
  double cpu_seconds = 0;  // of all threads, and of decisions from the log when they were made
};

// A candidate that no rule came of.
struct Unproven {
  std::string terms;  // both sides, as the space has them
  std::string rule;   // the last that was tried; empty when none could be stated
  std::string status;
  std::string reason;
  std::size_t level = 0;  // in Generation::candidates
};

struct GeneratedRule {
  Rule rule;
  Verdict verdict;
  std::size_t operators = 0;  // of its larger side
  std::string back_of{};      // the rule whose other direction this is
};

struct Generation {
  std::vector<GeneratedRule> rules;
  std::vector<LevelCount> levels;
  std::vector<CandidateCount> candidates;
  std::vector<Unproven> unproven;
  std::uint64_t from_log = 0;     // decisions that came from the log
  std::uint64_t two_outputs = 0;  // rules with two outputs among the rules
  bool stopped = false;           // before the end
  std::string limit{};            // what ended the enumeration early; empty: nothing
};

base::Result<Generation> generate(const Space& space, const GenerationOptions& options);

}  // namespace egret::rules::generator

// SPDX-License-Identifier: Apache-2.0
// What a generation has found up to some point: rules, candidates that no rule came of, and counts.
// Steps of the generation read it to choose what to prove next; what they decide is recorded here,
// in the order of candidates.
//
// 1. Of a level, candidates = derived + proven + conditional + refuted + undecided once all are
//    decided.
// 2. unproven() and the generation's `unproven` describe the same candidates in the same order.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rules/generator/candidate.h"
#include "rules/generator/candidate_rule.h"
#include "rules/generator/generation.h"

namespace egret::rules::generator {

// A candidate that is decided without becoming a rule.
struct Unresolved {
  Candidate candidate;
  Verdict::Status status;
  std::string rule;  // the last that was tried, as text; may be empty
  std::string reason;
};

// The candidate follows, at the sizes of the first world, from equalities that could not be proven:
// it is not new, and its proof would fail as theirs did.
Unresolved follows_from_unproven(const Candidate& candidate);

class Findings {
 public:
  // New rules continue the numbers in the names of those `given`, which are known from the start.
  Findings(const TermTable& terms, const RuleSet& given);

  // Rules given and found, without heuristics.
  const RuleSet& rules() const { return rules_; }
  std::size_t rules_found() const { return result_.rules.size(); }
  // Equalities that could not be proven, as rules of the first world.
  const std::vector<Rule>& unproven_rules() const { return unproven_rules_; }
  RuleSet with_unproven_rules() const;
  const std::vector<Candidate>& unproven() const { return unproven_; }

  // Failures to prove candidates of one shape (shape_of). After a few no other candidate of the
  // shape is tried: it follows from rules found later, or fails as they did.
  struct Failure {
    int times = 0;
    std::string terms{};  // of the first
    Verdict::Status status = Verdict::Status::kUndecided;
  };
  const Failure* failed_often(const std::string& shape) const;  // null: not often

  // Candidates are recorded in the level begun last.
  void begin_level(std::size_t operators, std::size_t candidates);
  const CandidateCount& level() const { return result_.candidates.back(); }

  void add_derived(std::size_t candidates) { level().derived += candidates; }
  void add_unresolved(Unresolved unresolved);
  // A failed proof, of which the equality is known `in_world`.
  void add_failure(const std::string& shape, Unresolved unresolved, std::vector<Rule> in_world);
  // Counts the candidate that `made` is of.
  void count_proven(const Generalized& made) {
    ++(made.conditional ? level().conditional : level().proven);
  }
  // Adds a rule under a new name, which is returned. `back_of` names the rule whose other direction
  // it is; empty: none.
  std::string add_rule(const Generalized& made, const std::string& back_of);
  // A decision that came from the log.
  void count_logged(const std::optional<Generalized>& made);
  void add_time(double seconds, double cpu_seconds);

  // Of unproven(), those that are derived after all: they are counted as such.
  void drop_unproven(const std::vector<bool>& derived);

  // Rules, counts and unproven candidates. Nothing may be recorded after.
  Generation take() { return std::move(result_); }

 private:
  CandidateCount& level() { return result_.candidates.back(); }
  std::string next_name(const Rule& rule);

  const TermTable& terms_;
  RuleSet rules_;
  std::vector<Rule> unproven_rules_;
  std::vector<Candidate> unproven_;
  std::map<std::string, Failure> failures_;
  std::map<std::string, int> last_number_;  // in names of rules, by what precedes it
  Generation result_;
};

}  // namespace egret::rules::generator

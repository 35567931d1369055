// SPDX-License-Identifier: Apache-2.0
// Proofs of candidates, from the log of decisions where it has them
// (rules/generator/decision_log.h). A rule is the same whether it comes from the log or not: it is
// always the one that its text parses to.
//
// prove() may be called by several threads.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "rules/generator/candidate_rule.h"
#include "rules/generator/decision_log.h"

namespace egret::rules::generator {

// Names what decisions depend on: space, options of proofs, definitions of operators. The bound on
// operators is not part of it: a later generation may raise it.
std::string decision_key(const Space& space, const CandidateScrutiny& scrutiny);

class LoggedProver {
 public:
  LoggedProver(TermTable& terms, const CandidateScrutiny& scrutiny, KnownOperators& known,
               DecisionLog log)
      : terms_(terms), scrutiny_(scrutiny), known_(known), log_(std::move(log)) {}

  // The most general rule of the equality, or nullopt where none can be stated.
  std::optional<Generalized> prove(const Equality& equality);

  // Records what prove() found of an equality that was decided. Whether the log had it before.
  bool record(const Equality& equality, const std::optional<Generalized>& made);
  // Writes what was recorded. The first failure is kept in status(); after it nothing is written.
  void save();
  const base::Status& status() const { return status_; }
  void remove_log() { log_.remove(); }

 private:
  TermTable& terms_;
  const CandidateScrutiny& scrutiny_;
  KnownOperators& known_;
  std::mutex mutex_;  // guards log_
  DecisionLog log_;
  base::Status status_;
};

}  // namespace egret::rules::generator

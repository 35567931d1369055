// SPDX-License-Identifier: Apache-2.0
// Answers shared by several sessions. Proofs of one rule under ever fewer conditions ask mostly the
// same queries, and a tenth to a third of one rule's queries occur for other rules too.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "verifier/solver/solver.h"

namespace egret::verifier {

struct SolverAnswer {
  Answer answer = Answer::kUnknown;
  std::uint64_t work = 0;  // in the solver's units
};

// The 128-bit hash of the query's key, and the limit.
using SolverQuestion = std::pair<base::ContentHash, unsigned>;

// For consecutive sessions: stores all answers.
using SolverMemory = std::map<SolverQuestion, SolverAnswer>;

// For sessions of any threads in any order: stores only answers that each session would get by
// itself. The work for a query depends slightly on earlier queries and on names. An answer that
// took a small part of the limit does not depend on them.
class EasyAnswers {
 public:
  std::optional<SolverAnswer> find(const SolverQuestion& question) const {
    const std::lock_guard lock(mutex_);
    const auto known = answers_.find(question);
    return known != answers_.end() ? std::optional(known->second) : std::nullopt;
  }
  // Stores the answer if it was easy. For integer queries only.
  void record(const SolverQuestion& question, const SolverAnswer& answer) {
    constexpr unsigned kShare = 8;  // of the limit, at most one in so many
    if (answer.answer == Answer::kUnknown || answer.work > question.second / kShare) return;
    const std::lock_guard lock(mutex_);
    answers_.emplace(question, answer);
  }

 private:
  mutable std::mutex mutex_;
  std::map<SolverQuestion, SolverAnswer> answers_;
};

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
// Answers of a solver that several sessions share: proofs of one rule under ever fewer conditions
// ask mostly the same, and a tenth to a third of what one rule's proofs ask other rules' ask too.
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

// The hash of the query's key, of 128 bits, and the limit.
using SolverQuestion = std::pair<base::ContentHash, unsigned>;

// Of sessions one after the other: whatever was answered.
using SolverMemory = std::map<SolverQuestion, SolverAnswer>;

// Of sessions of any threads, in whatever order: answers that each of them would get by itself.
// How much work a question is depends a little on what was asked before and on the names in it; an
// answer that took a small part of the limit does not.
class EasyAnswers {
 public:
  std::optional<SolverAnswer> find(const SolverQuestion& question) const {
    const std::lock_guard lock(mutex_);
    const auto known = answers_.find(question);
    return known != answers_.end() ? std::optional(known->second) : std::nullopt;
  }
  // Of integers; keeps those alone that were easy.
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

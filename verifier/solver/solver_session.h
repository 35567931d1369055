// SPDX-License-Identifier: Apache-2.0
// What the proofs of one rule ask of solvers, and what came of it: the only place where a solver is
// asked. The families of a rule ask much the same, so that answers are remembered, whatever their
// unknowns are called.
//
// A second opinion is cvc5's: each answer that a proof may use ("cannot all hold") is asked again.
// That the solvers contradict each other is said by the statistics and must never pass unnoticed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "verifier/solver/solver.h"
#include "verifier/solver/solver_memory.h"

namespace egret::verifier {

struct SolverStatistics {
  int queries = 0;              // asked of Z3
  int remembered = 0;           // answered from memory
  int contradictions = 0;       // answers among them that proofs may use
  double longest_seconds = 0;   // of one query, of processor time
  std::uint64_t most_work = 0;  // of one query, in Z3's units
  // Of the second solver, on those contradictions:
  int confirmed = 0;
  int unconfirmed = 0;  // it did not find out
  int disagreed = 0;    // it says that all can hold
};

// Counts added up, extremes joined.
void add(SolverStatistics& to, const SolverStatistics& from);

class SolverSession {
 public:
  struct Options {
    bool keep_queries = false;
    bool second_opinion = false;  // without cvc5: all are unconfirmed
    // What Z3 said in earlier sessions, which is taken for what it would say now; outlives this
    // one. Statistics count what is found there as asked.
    SolverMemory* memory = nullptr;
    EasyAnswers* easy = nullptr;  // what any session finds out; the same is true of it
  };

  SolverSession() : SolverSession(Options()) {}
  explicit SolverSession(Options options);
  // With solvers of the caller's; `second` may be nullptr.
  SolverSession(Options options, std::unique_ptr<Solver> first, std::unique_ptr<Solver> second);

  // Whether the assertions cannot all hold, as far as Z3 finds out with `limit` of its work units.
  bool contradictory(const Query& query, unsigned limit);

  const SolverStatistics& statistics() const { return statistics_; }
  // As SMT-LIB, in order, with what Z3 said as their expected status; when asked for.
  const std::vector<std::string>& queries() const { return queries_; }
  // Of the queries on which the solvers disagreed, the first; kept always.
  const std::string& disagreement() const { return disagreement_; }

 private:
  SolverAnswer ask(const Query& query, unsigned limit, const std::string& key);
  void ask_again(const Query& query, unsigned limit);

  Options options_;
  std::unique_ptr<Solver> first_;
  std::unique_ptr<Solver> second_;
  std::map<std::string, bool> known_;  // by the query's key
  SolverStatistics statistics_;
  std::vector<std::string> queries_;
  std::string disagreement_;
};

}  // namespace egret::verifier

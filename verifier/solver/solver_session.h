// SPDX-License-Identifier: Apache-2.0
// The solver queries of one rule's proofs, and their answers. It is the only place that calls a
// solver. The families of a rule ask similar queries, so answers are cached by structure,
// independent of the names of unknowns.
//
// With `second_opinion`, cvc5 repeats each query whose answer a proof may use ("unsatisfiable"). A
// disagreement is counted in the statistics and must never be ignored.
#pragma once

#include <cstdint>
#include <functional>
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
  // Results of the second solver on those contradictions:
  int confirmed = 0;
  int unconfirmed = 0;  // it did not find out
  int disagreed = 0;    // it says that all can hold
};

// Adds up counts and takes maxima of extremes.
void add(SolverStatistics& to, const SolverStatistics& from);

class SolverSession {
 public:
  struct Options {
    bool keep_queries = false;
    bool second_opinion = false;  // without cvc5: all are unconfirmed
    // Z3's answers from earlier sessions, used instead of asking again. Must outlive this session.
    // Statistics count such an answer as asked.
    SolverMemory* memory = nullptr;
    EasyAnswers* easy = nullptr;  // answers found by any session; must outlive this one too
    // Called with each query whose contradiction a proof may use.
    std::function<void(const Query&)> on_contradiction{};
  };

  SolverSession() : SolverSession(Options()) {}
  explicit SolverSession(Options options);
  // With the caller's solvers; `second` may be nullptr.
  SolverSession(Options options, std::unique_ptr<Solver> first, std::unique_ptr<Solver> second);

  // Whether the assertions are contradictory, as far as Z3 decides within `limit` work units.
  bool contradictory(const Query& query, unsigned limit);

  // Z3's answer, with its numbers for a satisfiable query about integers. Not cached. `proves`:
  // whether "unsatisfiable" would prove something, so that a second solver must confirm it.
  struct Finding {
    Answer answer = Answer::kUnknown;
    std::map<std::string, std::int64_t, std::less<>> numbers{};
  };
  Finding find(const Query& query, unsigned limit, bool proves);

  const SolverStatistics& statistics() const { return statistics_; }
  // The queries as SMT-LIB, in order, with Z3's answer as expected status; only with keep_queries.
  const std::vector<std::string>& queries() const { return queries_; }
  // The first query on which the solvers disagreed; always kept.
  const std::string& disagreement() const { return disagreement_; }

 private:
  void count(const Query& query, const SolverAnswer& answer, double seconds);
  void use_contradiction(const Query& query, unsigned limit);
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

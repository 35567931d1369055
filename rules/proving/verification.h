// SPDX-License-Identifier: Apache-2.0
// Verifies a rule. Random instances are first tested on tensors. Then they are generalized to
// families (rules/proving/generalization.h), whose two sides are proven equal
// (verifier/equality/obligation.h), until fresh instances are members of proven families.
//
// Meaning of "proven": for each listed family, for all sizes of at least 1 and all attributes that
// satisfy its conditions, in exact real arithmetic, wherever the left side is a finite number.
// Within a kind of instances, the families cover all sizes and attributes if Covered::open is empty
// (rules/proving/cover.h). That no kind is missing is checked by sampling, not proven.
//
// A family that cannot be proven directly may be derived from proven rules
// (rules/proving/rewriting_proof.h). Otherwise it is checked exhaustively up to a bound
// (rules/proving/bounded_check.h), and the rule is called bounded.
//
// A rule without content is a failure of its own: one without instances (vacuous), and one whose
// two sides are the same graph (trivial).
//
// Deterministic for a seed: the solver is bounded by its own work units, never by time. After
// base::stop_requested() the rule is undecided, within about the time of one family.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/language/rule.h"
#include "rules/proving/cover.h"
#include "rules/testing/instantiation.h"
#include "verifier/solver/solver_session.h"

namespace egret::rules {

struct VerifyOptions {
  int tensor_checks = 100;  // instances that are run with tensors before anything is proven
  int longer_search = 50;   // times as many, of a rule that could not be proven
  int instances = 100;      // that must be members of proven families
  int attempts_per_instance = 400;
  int most_families = 1500;
  int most_queries = 100'000;      // of the solver
  std::size_t cover_paths = 5000;  // most runs for all kinds of instances, the simplest kinds first
  int cover_families = 100;        // most families proven because of that search
  std::size_t cover_questions = 150;  // most questions to Z3 for it
  // The effort for enumerating all small instances of up to four axes
  // (rules/testing/small_instances.h).
  std::size_t small_effort = 400'000;
  // The most members checked of an unproven family (0: such a rule is undecided), and of all such
  // families together.
  std::int64_t bounded_members = 0;
  std::int64_t bounded_members_in_all = 20'000;
  std::uint64_t seed = 1;
  // Proven rules from which others may be derived; rules with the same meaning are skipped. Must
  // outlive the call.
  std::span<const Rule> lemmas{};
  verifier::SolverMemory* memory = nullptr;  // of answers to earlier calls; outlives this one
  // Answers shared with calls of other threads. The verdict does not depend on it, except for the
  // counted work.
  verifier::EasyAnswers* easy = nullptr;
  bool batch_axes = true;     // sizes along them are kept equal (rules/proving/batch_sizes.h)
  bool scalars_first = true;  // rules over elementwise operators are proven at any rank
  bool keep_queries = false;
  bool second_opinion = false;  // of cvc5, on what Z3 was asked
};

// The options with which Egret's own rules are verified.
inline VerifyOptions thorough_options() {
  return {.cover_paths = 30'000,
          .cover_families = 1'200,
          .cover_questions = 600,
          .small_effort = 10'000'000};
}

// The numbers for which a rule was proven. A kind is what families fix: ranks, element types,
// texts, list lengths and the signs of attributes.
struct Covered {
  int kinds = 0;          // that random instances have
  int complete = 0;       // kinds whose families contain all sizes and integer attributes
  std::size_t paths = 0;  // of all kinds
  int rank = 0;           // the largest of a variable
  std::string open;       // why a kind is not complete; empty if all are
  // Ranks of the variables, in the order of the rule, of the kinds that are not complete. Sorted.
  std::set<std::vector<int>> open_ranks{};
};

struct Verdict {
  enum class Status : std::uint8_t {
    kProven,
    kBounded,  // for sizes and integer attributes up to `bound`
    kRefuted,
    kUndecided,
    kVacuous,
    kTrivial,
    kDisputed,  // the solvers contradict each other: a fault of one of them, or of Egret
  };
  Status status = Status::kUndecided;
  std::string
      reason;  // a counterexample, what could not be proven for all sizes, or the disputed query
  int families = 0;
  int derived = 0;  // families among them that other rules prove
  int members = 0;  // instances found to be members
  int axes = -1;    // all small instances of tensors of at most so many axes hold
  std::int64_t bound = 0;
  Covered cover;
  bool any_rank = false;  // proven for tensors of any rank (rules/proving/any_rank.h)
  verifier::SolverStatistics solver;
  // A text per family: its description, both sides, and how they were matched. The queries are
  // SMT-LIB, if requested.
  std::vector<std::string> proofs;
  std::vector<std::string> queries;
};

std::string_view to_string(Verdict::Status status);  // "proven", "refuted", ...

// Thread-safe with a shared `known`. The verdict does not depend on other threads.
Verdict verify(const Rule& rule, const VerifyOptions& options, KnownOperators& known);

// Whether Egret was built with the second solver.
bool has_second_solver();

}  // namespace egret::rules

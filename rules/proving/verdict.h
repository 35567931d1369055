// SPDX-License-Identifier: Apache-2.0
// How far the verification of a rule goes, and what it finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/language/rule.h"
#include "rules/proving/lemma.h"
#include "rules/testing/tester.h"
#include "rules/traces/proof_trace.h"
#include "verifier/solver/solver_session.h"

namespace egret::rules {

struct VerifyOptions {
  int tensor_checks = 100;  // instances that are run with tensors before anything is proven
  int longer_search = 50;   // times as many, of a rule that could not be proven
  int instances = 100;      // that must be members of proven families
  int attempts_per_instance = 400;
  int most_families = 1500;
  int most_queries = 100'000;      // of the solver
  int higher_ranks = 5;            // up to which ranks that random instances do not reach are tried
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
  std::span<const Lemma> lemmas{};
  verifier::SolverMemory* memory = nullptr;  // of answers to earlier calls; outlives this one
  // Answers shared with calls of other threads. The verdict does not depend on it, except for the
  // counted work.
  verifier::EasyAnswers* easy = nullptr;
  // What is proven: that both sides are equal, or that they differ: that each instance whose output
  // has elements has inputs for which they do. No tensors are then run.
  enum class Claim : std::uint8_t { kEqual, kDifferent };
  Claim claim = Claim::kEqual;
  bool batch_axes = true;     // sizes along them are kept equal (rules/proving/batch_sizes.h)
  bool scalars_first = true;  // rules over elementwise operators are proven at any rank
  bool keep_queries = false;
  bool second_opinion = false;  // of cvc5, on what Z3 was asked
};

// The options with which Egret's own rules are verified.
inline VerifyOptions thorough_options() {
  return {.most_families = 8'000,
          .cover_paths = 100'000,
          .cover_families = 5'000,
          .cover_questions = 600,
          .small_effort = 10'000'000};
}

// Options for a proof that the sides differ. What broadcasts and scalars show of equal sides does
// not carry over.
inline VerifyOptions differing(VerifyOptions options) {
  options.claim = VerifyOptions::Claim::kDifferent;
  options.tensor_checks = 0;
  options.bounded_members = 0;
  options.lemmas = {};
  options.batch_axes = false;
  options.scalars_first = false;
  return options;
}

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
  int checks = 0;                                  // instances that passed the tests with tensors
  std::shared_ptr<const Difference> difference{};  // the counterexample's tensors, of kRefuted
  int families = 0;
  int derived = 0;                  // families among them that other rules prove
  int members = 0;                  // instances found to be members
  bool excludes_instances = false;  // of a vacuous rule: it is decided that there are none
  int axes = -1;                    // all small instances of tensors of at most so many axes hold
  std::int64_t bound = 0;
  Covered cover;
  bool any_rank = false;  // proven for tensors of any rank (rules/proving/any_rank.h)
  bool of_empty = false;  // about instances with a size of 0: no other satisfies the conditions
  verifier::SolverStatistics solver;
  // A text per family: its description, both sides, and how they were matched. The queries are
  // SMT-LIB, if requested.
  std::vector<std::string> proofs;
  std::vector<std::string> queries;
  ProofTrace trace;
};

std::string_view to_string(Verdict::Status status);  // "proven", "refuted", ...

// Why a verification ends before its last step. Steps return nullopt if it goes on.
struct Ending {
  Verdict::Status status = Verdict::Status::kUndecided;
  std::string reason;
  std::shared_ptr<const Difference> difference{};  // of kRefuted
};
// The end with a counterexample.
inline Ending refuted(Counterexample found) {
  return {Verdict::Status::kRefuted, std::move(found.text), std::move(found.difference)};
}

}  // namespace egret::rules

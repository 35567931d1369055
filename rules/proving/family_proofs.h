// SPDX-License-Identifier: Apache-2.0
// Proves the families of a rule's instances, and remembers them: their members need no further
// proof.
//
// If the two sides of a family cannot be proven equal, a counterexample is sought
// (rules/proving/refutation.h), then a derivation by lemmas (rules/proving/rewriting_proof.h), then
// a proof of all members up to a bound (rules/proving/bounded_check.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rules/proving/proven_families.h"
#include "rules/proving/refutation.h"
#include "rules/proving/verdict.h"
#include "verifier/solver/solver_session.h"

namespace egret::rules {

class FamilyProofs {
 public:
  // All outlive the object.
  FamilyProofs(const Rule& rule, const VerifyOptions& options, Instantiator& instantiator,
               const Refutation& refutation, verifier::SolverSession& session);

  // Whether the instance belongs to a proven family.
  bool contain(const Instance& instance) const;
  // Whether the limits admit the proofs of another instance.
  bool may_prove_more() const;
  // Generalizes the instance to a family and proves that. Returns why this fails.
  std::optional<Ending> prove(const Instance& instance);
  // The same for an instance that the rule may be limited not to have: an unproven family is not
  // checked up to a bound, and leaves no text.
  std::optional<Ending> prove_optional(const Instance& instance);
  // Adds what was found so far to the verdict. Returns why a family is only bounded.
  std::string report(Verdict& verdict) const;
  // The instances whose families were proven, in order.
  const std::vector<RecordedChoice>& trace() const { return trace_; }
  bool all_direct() const { return derived_ == 0 && bound_ == 0; }

 private:
  // `most_members`: up to so many members of an unproven family are checked.
  std::optional<Ending> prove(const Instance& instance, std::int64_t most_members);
  // The same family with other integers. That definitions decide alike on sizes for all integers is
  // trusted, so these kinds are not explored on their own.
  std::optional<Ending> prove_other_integers(const Instance& instance, std::int64_t most_members);
  std::optional<Ending> prove_one(const Instance& instance, std::int64_t most_members);
  std::optional<Ending> prove_unconditional(const Instance& instance, std::int64_t most_members,
                                            const std::string& reason);
  FamilyProof prove(const Instance& instance, const Family& family) const;
  void keep_proof(const Family& family, const std::vector<std::string>& lines);
  bool derive(const Instance& instance, const Family& family);
  std::optional<Ending> check_up_to_bound_of(const Instance& instance, const Family& family,
                                             std::int64_t most_members, const std::string& reason);
  const std::vector<Lemma>& lemmas();

  const Rule& rule_;
  const VerifyOptions& options_;
  Instantiator& instantiator_;
  const Refutation& refutation_;
  verifier::SolverSession& session_;
  ProvenFamilies proven_;
  std::optional<std::vector<Lemma>> lemmas_;  // without this rule
  int families_ = 0;
  int derived_ = 0;
  std::vector<std::string> texts_;  // of the proofs
  std::vector<RecordedChoice> trace_;
  std::int64_t bound_ = 0;  // least of the families that are only bounded
  std::int64_t bounded_members_ = 0;
  std::string unproven_;  // why the first of them is
};

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// Repeats the proof of a rule from what its verification found. Nothing is searched for: the
// families are those of the recorded instances, and the runs that cover their kinds are recorded.
// Contradictions are decided by the session, which may answer from a certificate alone
// (verifier/contradictions/certified_solver.h).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "rules/testing/known_operators.h"
#include "rules/traces/proof_trace.h"
#include "verifier/solver/solver_session.h"

namespace egret::rules {

// What is proven: for each kind, all members of its families; the rule on all instances of the
// kinds that are complete.
struct ProvenClaim {
  int families = 0;
  int kinds = 0;
  int complete = 0;  // kinds whose families contain all sizes and integer attributes
  int rank = 0;      // the largest of a variable
  bool any_rank = false;
  bool of_empty = false;                    // about tensors with a size of 0
  std::set<std::vector<int>> open_ranks{};  // of the kinds that are not complete
  std::string open{};                       // why the first of them is not; no part of the claim

  bool same(const ProvenClaim& other) const;
};

// Errors: mismatch, which names the family or kind that is not proven.
base::Result<ProvenClaim> replay_proof(const Rule& rule, const ProofTrace& trace, bool of_empty,
                                       verifier::SolverSession& session, KnownOperators& known);

}  // namespace egret::rules

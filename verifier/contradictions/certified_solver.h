// SPDX-License-Identifier: Apache-2.0
// A solver that knows what proofs show: it answers "unsatisfiable" if a checked proof says so, and
// "unknown" otherwise.
#pragma once

#include <map>
#include <string>

#include "base/hash.h"
#include "verifier/contradictions/contradiction_proof.h"
#include "verifier/solver/solver.h"

namespace egret::verifier {

// By the content hash of the query's key, in hex.
using ContradictionProofs = std::map<std::string, ContradictionProof>;

inline std::string contradiction_name(const Query& query) {
  return base::content_hash(query.key()).to_hex();
}

class CertifiedSolver final : public Solver {
 public:
  struct Findings {
    std::size_t shown = 0;  // contradictions whose proofs were checked
    std::string wrong{};    // the name of the first whose proof is none
  };
  // Both outlive the solver.
  CertifiedSolver(const ContradictionProofs& proofs, Findings& findings)
      : proofs_(proofs), findings_(findings) {}

  std::string_view name() const override { return "certificate"; }
  Answer ask(const Query& query, unsigned /*limit*/) override {
    const auto proof = proofs_.find(contradiction_name(query));
    if (proof == proofs_.end()) return Answer::kUnknown;
    if (is_contradictory(query, proof->second)) {
      ++findings_.shown;
      return Answer::kUnsatisfiable;
    }
    if (findings_.wrong.empty()) findings_.wrong = proof->first;
    return Answer::kUnknown;
  }
  std::uint64_t work() const override { return 0; }

 private:
  const ContradictionProofs& proofs_;
  Findings& findings_;
};

}  // namespace egret::verifier

// SPDX-License-Identifier: Apache-2.0
// The proof of a rule as a document: one JSON object, on one line of a file.
//
//   {"schema_version": 1, "kind": "rule proof", "rule": TEXT, "hash": HEX,
//    "on_scalars": false,                        proven for tensors of rank 0
//    "claim": {"families": .., "kinds": .., ..},  what the proof shows
//    "families": [CHOICE, ..],                   rules/traces/recorded_choice.h
//    "kinds": [{"like": CHOICE, "exceptions": [..], "runs": [{"?x.0": 2, ..}, ..],
//               "complete": true}, ..],
//    "contradictions": {NAME: PROOF, ..},        verifier/contradictions/contradiction_proof.h
//    "solver": {NAME: SMT-LIB, ..}}              contradictions without a proof
//
// A contradiction is named by the hash of the query. The replay makes each query itself, from the
// operators' definitions, and looks its proof up.
#pragma once

#include <map>
#include <string>

#include "base/formats/json.h"
#include "rules/language/rule.h"
#include "rules/proofs/proof_replay.h"
#include "verifier/contradictions/certified_solver.h"

namespace egret::rules {

struct RuleCertificate {
  std::string text;  // of the rule
  std::string hash;  // of its meaning
  ProvenClaim claim;
  ProofTrace trace;
  verifier::ContradictionProofs contradictions;
  std::map<std::string, std::string> solver;  // what Z3 alone says, as SMT-LIB, by name
};

base::Json json_of(const RuleCertificate& certificate);
// Errors: bad_input.
base::Result<RuleCertificate> parse_rule_certificate(const base::Json& json);

struct CheckedRule {
  Rule rule;
  ProvenClaim claim;
  std::size_t shown = 0;    // contradictions by their proofs
  std::size_t assumed = 0;  // by the solver's word
};
// Replays the proof. `assume_solver`: the contradictions that the certificate names as the
// solver's are taken for true. Errors: mismatch, with the first step that is wrong; limit_hit, if
// the proof needs the solver.
base::Result<CheckedRule> check_rule(const RuleCertificate& certificate, bool assume_solver,
                                     KnownOperators& known);

}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// Writes the proof of a rule as a certificate. The proof is repeated from its trace, as the replay
// does it, with Z3; each contradiction that Z3 finds then gets a proof, if a short search finds one
// (verifier/contradictions/contradiction_search.h).
#pragma once

#include "rules/proofs/rule_certificate.h"
#include "rules/proving/verdict.h"

namespace egret::rules {

// Errors: unsupported, for a verdict other than proven, and for proofs by other rules or member by
// member; mismatch, if the proof cannot be repeated.
base::Result<RuleCertificate> certify(const Rule& rule, const Verdict& verdict,
                                      KnownOperators& known);

}  // namespace egret::rules

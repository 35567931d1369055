// SPDX-License-Identifier: Apache-2.0
#include "rules/proofs/rule_certificate_writer.h"

#include <optional>
#include <utility>

#include "verifier/contradictions/contradiction_search.h"

namespace egret::rules {
namespace {

constexpr unsigned kWork = 4'000'000;  // of Z3, for the assertions that contradict each other

void prove(const verifier::Query& query, RuleCertificate& certificate) {
  const std::string name = verifier::contradiction_name(query);
  if (certificate.contradictions.contains(name) || certificate.solver.contains(name)) return;
  std::optional<verifier::ContradictionProof> proof;
  if (auto core = verifier::contradictory_core(query, kWork))
    proof = verifier::find_contradiction(query, *std::move(core));
  if (!proof) proof = verifier::find_contradiction(query, {});
  if (proof) {
    certificate.contradictions.emplace(name, *std::move(proof));
  } else {
    certificate.solver.emplace(name, query.to_smt_lib());
  }
}

}  // namespace

base::Result<RuleCertificate> certify(const Rule& rule, const Verdict& verdict,
                                      KnownOperators& known) {
  if (verdict.status != Verdict::Status::kProven) return base::unsupported("it is not proven");
  if (!verdict.trace.direct)
    return base::unsupported("it is proven by other rules, or not for all sizes");
  RuleCertificate certificate;
  certificate.text = to_string(rule);
  certificate.hash = content_hash(rule).to_hex();
  certificate.trace = verdict.trace;
  verifier::SolverSession session(
      {.on_contradiction = [&](const verifier::Query& query) { prove(query, certificate); }});
  EGRET_ASSIGN_OR_RETURN(certificate.claim,
                         replay_proof(rule, certificate.trace, verdict.of_empty, session, known));
  return certificate;
}

}  // namespace egret::rules

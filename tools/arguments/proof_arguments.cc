// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/proof_arguments.h"

#include "rules/tensors/admitted_rules.h"

namespace egret::tools {
namespace {

using Verdict = driver::EqualityProof::Verdict;

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProven: return "proven";
    case Verdict::kDifferent: return "different";
    case Verdict::kUndecided: break;
  }
  return "undecided";
}

}  // namespace

const base::OptionTable<ProofArguments>& ProofArguments::table() {
  using P = ProofArguments;
  static const base::OptionTable<P> rows{
      "verify",
      {{"rules", &P::rules, std::string(rules::kRulesHelp)},
       {"allow", &P::allow, std::string(rules::kAllowHelp), base::one_of(rules::allow_names())},
       {"seed", &P::seed, "Seed of random numbers", base::range(0)},
       {"pair-time", &P::pair_time, "Time limit of saturation, for each pair of values",
        base::seconds()},
       {"proof-time", &P::proof_time, "Time limit of all proofs by rules", base::seconds()}}};
  return rows;
}

base::Result<driver::EqualityProof> ProofArguments::prove(const ir::Graph& a, const ir::Graph& b,
                                                          Console& console) const {
  EGRET_ASSIGN_OR_RETURN(const auto admitted, rules::AdmittedRules::select(rules, allow));
  driver::ProofOptions how;
  how.pair_seconds = pair_time;
  how.seconds = proof_time;
  how.threads = console.options().threads;
  how.seed = static_cast<std::uint64_t>(seed);
  how.progress = console.progress();
  return driver::prove_equal(a, b, admitted, how);
}

void add_proof(base::Json& json, const driver::EqualityProof& proof) {
  json.set("verdict", name_of(proof.verdict))
      .set("values", proof.values)
      .set("same", proof.same)
      .set("by_rules", proof.by_rules)
      .set("folded", proof.folded)
      .set("output", proof.output)
      .set("difference", proof.difference)
      .set("open_value", proof.open_value)
      .set("term_a", proof.term_a)
      .set("term_b", proof.term_b)
      .set("out_of_time", proof.out_of_time)
      .set("unused_inputs", base::Json::array(proof.unused_inputs));
}

std::string to_text(const driver::EqualityProof& proof, const std::string& a,
                    const std::string& b) {
  std::string text = name_of(proof.verdict);
  if (proof.verdict == Verdict::kDifferent)
    text += ": output '" + proof.output + "' differs by up to " +
            base::Json(proof.difference).dump() + " on random inputs";
  if (proof.verdict == Verdict::kUndecided)
    text += ": output '" + proof.output + "' agrees on random inputs, but has no proof";
  text += "\n" + std::to_string(proof.same + proof.by_rules) + " of " +
          std::to_string(proof.values) + " values of " + b + " equal values of " + a + ": " +
          std::to_string(proof.same) + " by the same operators, " + std::to_string(proof.by_rules) +
          " by rules" +
          (proof.folded > 0 ? "; folded constants are equal within 1e-6 of their largest element"
                            : "") +
          (proof.out_of_time ? "; the time was used up" : "") + "\n";
  for (const std::string& input : proof.unused_inputs)
    text += "input '" + input + "' is in one model only, which does not read it\n";
  if (!proof.term_b.empty()) {
    text += std::string(proof.verdict == Verdict::kDifferent
                            ? "\nthe smallest pair that differs, in "
                            : "\nthe first pair without a proof, in ") +
            a + ":\n" + proof.term_a + "and in " + b + ":\n" + proof.term_b;
  }
  return text;
}

ExitCode exit_code_of(const driver::EqualityProof& proof) {
  if (proof.verdict == Verdict::kProven) return ExitCode::kOk;
  return proof.verdict == Verdict::kDifferent ? ExitCode::kMismatch : ExitCode::kLimit;
}

}  // namespace egret::tools

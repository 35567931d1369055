// SPDX-License-Identifier: Apache-2.0
#include "driver/proofs/equality_proof.h"
#include "tools/arguments/model_file.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

struct VerifyArguments {
  std::string rules = "default";
  std::string allow = "proven";
  std::int64_t seed = 1;
  double pair_time = 2;
  double proof_time = 120;

  static const base::OptionTable<VerifyArguments>& table() {
    using V = VerifyArguments;
    static const base::OptionTable<V> rows{
        "verify",
        {{"rules", &V::rules, std::string(rules::kRulesHelp)},
         {"allow", &V::allow, std::string(rules::kAllowHelp), base::one_of(rules::allow_names())},
         {"seed", &V::seed, "Seed of random numbers", base::range(0)},
         {"pair-time", &V::pair_time, "Time limit of saturation, for each pair of values",
          base::seconds()},
         {"proof-time", &V::proof_time, "Time limit of all proofs by rules", base::seconds()}}};
    return rows;
  }
};

class Verify final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("A", first_, "The original model, an ONNX file");
    arguments.positional("B", second_, "The model that should be equal");
    arguments.options(options_);
    arguments.options(model_);
  }

  base::Result<ExitCode> run(Console& console) override {
    using Verdict = driver::EqualityProof::Verdict;
    EGRET_ASSIGN_OR_RETURN(const auto rules,
                           rules::AdmittedRules::select(options_.rules, options_.allow));
    constexpr BindNames names = BindNames::kMayBeUnknown;
    EGRET_ASSIGN_OR_RETURN(const ModelSource first, source_of(first_));
    EGRET_ASSIGN_OR_RETURN(const ModelSource second, source_of(second_));
    EGRET_ASSIGN_OR_RETURN(const auto a, read_concrete_model(first, model_, console, names));
    EGRET_ASSIGN_OR_RETURN(const auto b, read_concrete_model(second, model_, console, names));
    driver::ProofOptions how;
    how.pair_seconds = options_.pair_time;
    how.seconds = options_.proof_time;
    how.threads = console.options().threads;
    how.seed = static_cast<std::uint64_t>(options_.seed);
    how.progress = console.progress();
    EGRET_ASSIGN_OR_RETURN(const driver::EqualityProof proof,
                           driver::prove_equal(a.graph, b.graph, rules, how));
    const std::string verdict = proof.verdict == Verdict::kProven      ? "proven"
                                : proof.verdict == Verdict::kDifferent ? "different"
                                                                       : "undecided";
    base::Json json = base::versioned_json();
    json.set("verdict", verdict)
        .set("values", proof.values)
        .set("same", proof.same)
        .set("by_rules", proof.by_rules)
        .set("folded", proof.folded)
        .set("output", proof.output)
        .set("difference", proof.difference)
        .set("open_value", proof.open_value)
        .set("term_a", proof.term_a)
        .set("term_b", proof.term_b)
        .set("out_of_time", proof.out_of_time);
    std::string text = verdict;
    if (proof.verdict == Verdict::kDifferent)
      text += ": output '" + proof.output + "' differs by up to " +
              base::Json(proof.difference).dump() + " on random inputs";
    if (proof.verdict == Verdict::kUndecided)
      text += ": output '" + proof.output + "' agrees on random inputs, but has no proof";
    text += "\n" + std::to_string(proof.same + proof.by_rules) + " of " +
            std::to_string(proof.values) +
            " values of B equal values of A: " + std::to_string(proof.same) +
            " by the same operators, " + std::to_string(proof.by_rules) + " by rules" +
            (proof.folded > 0 ? "; folded constants are equal within 1e-6 of their largest element"
                              : "") +
            (proof.out_of_time ? "; the time was used up" : "") + "\n";
    if (!proof.term_b.empty())
      text +=
          "\nthe first pair without a proof, in A:\n" + proof.term_a + "and in B:\n" + proof.term_b;
    console.result(json, text);
    if (proof.verdict == Verdict::kProven) return ExitCode::kOk;
    return proof.verdict == Verdict::kDifferent ? ExitCode::kMismatch : ExitCode::kLimit;
  }

 private:
  std::string first_;
  std::string second_;
  VerifyArguments options_;
  ModelOptions model_;
};

}  // namespace

Verb verify_verb() {
  return {
      "verify", "Prove that two models are equal",
      "Proves for all inputs that B computes the same as A, in real arithmetic, whatever tool "
      "made B. Values that agree on random inputs are proven equal one after the other, by "
      "saturation of small e-graphs from both sides with proven rules. Symbolic sizes get "
      "usual numbers, or those of --bind.\n\nThe exit code is 0 if all outputs are proven, 6 if "
      "one differs on random inputs, and 5 if one is undecided. The smallest terms that are "
      "not proven are then printed.",
      make_command<Verify>};
}

}  // namespace egret::tools

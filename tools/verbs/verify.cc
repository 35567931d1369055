// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/model_file.h"
#include "tools/arguments/proof_arguments.h"
#include "tools/frame/verb.h"

namespace egret::tools {
namespace {

class Verify final : public Command {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("A", first_, "The original model, an ONNX file");
    arguments.positional("B", second_, "The model that should be equal");
    arguments.options(options_);
    arguments.options(model_);
  }

  base::Result<ExitCode> run(Console& console) override {
    constexpr BindNames names = BindNames::kMayBeUnknown;
    EGRET_ASSIGN_OR_RETURN(const ModelSource first, source_of(first_));
    EGRET_ASSIGN_OR_RETURN(const ModelSource second, source_of(second_));
    EGRET_ASSIGN_OR_RETURN(const auto a, read_concrete_model(first, model_, console, names));
    EGRET_ASSIGN_OR_RETURN(const auto b, read_concrete_model(second, model_, console, names));
    EGRET_ASSIGN_OR_RETURN(const driver::EqualityProof proof,
                           options_.prove(a.graph, b.graph, console));
    base::Json json = base::versioned_json();
    add_proof(json, proof);
    console.result(json, to_text(proof, "A", "B"));
    return exit_code_of(proof);
  }

 private:
  std::string first_;
  std::string second_;
  ProofArguments options_;
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

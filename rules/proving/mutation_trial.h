// SPDX-License-Identifier: Apache-2.0
// What becomes of a mutant (rules/testing/mutation.h).
//
// Instances of the rule that it was made of are tried first, then random ones of its own: an
// exchange in a target shows on the former, a dropped condition on the latter.
//
// Deterministic for a seed.
#pragma once

#include <string>
#include <vector>

#include "rules/proving/verification.h"
#include "rules/testing/mutation.h"
#include "rules/testing/tester.h"

namespace egret::rules {

enum class MutantOutcome : std::uint8_t {
  kRefuted,    // tensors tell its sides apart
  kNoRule,     // no instance was found, or its sides are the same graph
  kSame,       // each instance found is one of the rule too, with the same graphs: no mistake
  kTrue,       // proven, and held on many random instances: the mistake is none
  kUnrefuted,  // neither proven nor refuted by as many
  // Proven without looking at tensors, and refuted by their elements: a bug of the verifier. (That
  // an integer division fails where nothing reads it refutes a rule, and no proof speaks of it.)
  kWrong,
};
std::string_view to_string(MutantOutcome outcome);  // "refuted", "no-rule", ...

struct MutantTrialOptions {
  int original_instances = 60;  // of the rule, tried as instances of the mutant
  int few_checks = 300;         // random instances of the mutant before anything is proven
  int attempts_per_check = 30;
  int walks = 4;  // from some of them (rules/testing/instance_walk.h)
  int steps_per_walk = 100;
  int checks = 10'000;  // what a mutant must hold on that is not refuted by few
  std::uint64_t seed = 1;
};

// All mutants of one rule.
class MutantTrial {
 public:
  // Both outlive the trial.
  MutantTrial(const Rule& rule, KnownOperators& known, const MutantTrialOptions& options = {});

  // `audit`: also prove what tensors refute, to see that it is not proven. Costs a verification.
  MutantOutcome outcome(const Mutant& mutant, bool audit);

 private:
  struct Findings {
    int instances = 0;
    bool refuted = false;
    bool right_fails = false;
    bool differs = false;  // from the rule's own instance of the same types and attributes
  };
  void look_at(const Rule& mutant, const Instance& instance, base::Random random,
               Findings& findings);
  Findings findings_of(const Rule& mutant);
  bool is_proven_blindly(const Rule& mutant, Verdict::Status& status);
  TestReport tested_often(const Rule& mutant);

  const Rule& rule_;
  KnownOperators& known_;
  MutantTrialOptions options_;
  Instantiator instantiator_;
  std::vector<Instance> originals_;
};

}  // namespace egret::rules

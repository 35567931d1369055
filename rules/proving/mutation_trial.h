// SPDX-License-Identifier: Apache-2.0
// Classifies a mutant of a rule (rules/testing/mutation.h).
//
// Instances of the original rule are tried first, then random instances of the mutant. An exchange
// in a target shows on the former, a dropped condition on the latter.
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
  // Proven without testing on tensors, but refuted by tensor elements: a bug of the verifier. (A
  // right side that fails as a whole, for example by an integer division whose result nothing
  // reads, refutes a rule but contradicts no proof.)
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

// The trials of all mutants of one rule.
class MutantTrial {
 public:
  // Both must outlive the trial.
  MutantTrial(const Rule& rule, KnownOperators& known, const MutantTrialOptions& options = {});

  // With `audit`, also tries to prove mutants that tensors refute, to check that the verifier does
  // not. This costs one verification.
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

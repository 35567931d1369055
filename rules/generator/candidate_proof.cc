// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/candidate_proof.h"

#include "rules/testing/instance_stream.h"

namespace egret::rules::generator {
namespace {

bool can_be_instantiated(const Rule& rule, KnownOperators& known) {
  constexpr std::uint64_t kAttempts = 300;
  constexpr int kWanted = 3;
  Instantiator instantiator(rule, known);
  InstanceStream instances(instantiator, base::Random(7));
  int found = 0;
  while (found < kWanted && instances.next(kAttempts)) ++found;
  return found == kWanted;
}

}  // namespace

VerifyOptions screening_options() {
  VerifyOptions options;
  options.instances = 20;
  options.tensor_checks = 20;
  options.longer_search = 10;
  options.most_queries = 150;
  options.attempts_per_instance = 60;
  options.cover_paths = 0;
  options.small_effort = 0;
  return options;
}

Verdict screen_candidate(const Rule& rule, const VerifyOptions& screening, KnownOperators& known) {
  if (!can_be_instantiated(rule, known)) {
    Verdict verdict;
    verdict.reason = "random search finds no instances";
    return verdict;
  }
  return verify(rule, screening, known);
}

Verdict prove_candidate(const Rule& rule, const CandidateScrutiny& scrutiny,
                        KnownOperators& known) {
  const Verdict screened = screen_candidate(rule, scrutiny.screening, known);
  if (screened.status != Verdict::Status::kProven) return screened;
  return verify(rule, scrutiny.verification, known);
}

Verdict test_candidate(const Rule& rule, Verdict proven, const TestOptions& tests,
                       KnownOperators& known) {
  TestReport report = test_rule(rule, tests, known);
  if (report.verdict == TestReport::Verdict::kRefuted) {
    proven.status = Verdict::Status::kRefuted;
    proven.reason = std::move(report.counterexample);
    proven.difference = std::move(report.difference);
  } else if (report.verdict == TestReport::Verdict::kUntestable) {
    proven.status = Verdict::Status::kUndecided;
    proven.reason = "random search finds few instances to test it on";
  }
  return proven;
}

}  // namespace egret::rules::generator

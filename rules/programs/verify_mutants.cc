// SPDX-License-Identifier: Apache-2.0
// verify_mutants SELECTION RESULTS [CHECKS]: plants mistakes in the selected rules
// (rules/mutation.h) and says of each mutant what becomes of it, a line of RESULTS each:
//
//   HASH  outcome  NAME  MISTAKE
//
//   refuted    tensors tell the sides apart
//   no-rule    it has no instance, or its sides are the same graph, or it is a rule of the
//   selection unproven   tensors do not refute it, and it is not proven true       proven, and held
//   on CHECKS (10000) random instances: the mistake is none WRONG      proven without looking at
//   tensors, and refuted by them: a bug of the verifier
//
// Mutants that RESULTS lists already are skipped, so that a run can be resumed. Exits 1 when one is
// WRONG.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "rules/mutation.h"
#include "rules/rule_set.h"
#include "rules/tester.h"
#include "rules/verification.h"

namespace {

using namespace egret::rules;

constexpr int kFewChecks = 300;

bool tensors_refute(const Rule& rule, int checks, KnownSignatures& known) {
  TestOptions options;
  options.checks = checks;
  options.attempts_per_check = 30;
  return test_rule(rule, options, known).verdict == TestReport::Verdict::kRefuted;
}

std::string outcome_of(const Rule& mutant, bool audit, int checks, KnownSignatures& known) {
  using Status = Verdict::Status;
  VerifyOptions proving;
  proving.tensor_checks = 0;
  proving.instances = 60;
  proving.attempts_per_instance = 60;
  proving.most_families = 60;
  if (tensors_refute(mutant, kFewChecks, known)) {
    // Whether it would have been proven, for some of them.
    const bool wrong = audit && verify(mutant, proving, known).status == Status::kProven;
    return wrong ? "WRONG" : "refuted";
  }
  switch (verify(mutant, proving, known).status) {
    case Status::kVacuous:
    case Status::kTrivial: return "no-rule";
    case Status::kProven: return tensors_refute(mutant, checks, known) ? "WRONG" : "true";
    default: break;
  }
  return tensors_refute(mutant, checks / 5, known) ? "refuted" : "unproven";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: verify_mutants SELECTION RESULTS [CHECKS]\n");
    return 2;
  }
  const auto set = select_rules(argv[1]);
  if (!set.ok()) {
    std::fprintf(stderr, "%s\n", set.status().message().c_str());
    return egret::base::exit_code(set.status().code());
  }
  const int checks = argc > 3 ? std::atoi(argv[3]) : 10'000;
  std::set<std::string> seen;  // by hash
  std::map<std::string, int> counts;
  {
    std::ifstream old(argv[2]);
    for (std::string hash, outcome, rest; old >> hash >> outcome && std::getline(old, rest);) {
      if (seen.insert(hash).second) ++counts[outcome];
    }
  }
  for (const Rule& rule : set->rules) seen.insert(content_hash(rule).to_hex());
  std::ofstream results(argv[2], std::ios::app);
  KnownSignatures known;
  std::size_t done = 0;
  for (const Rule& rule : set->rules) {
    std::size_t number = 0;
    for (const Mutant& mutant : mutants_of(rule)) {
      const std::string hash = content_hash(mutant.rule).to_hex();
      const bool audit = number++ % 4 == 0;
      if (!seen.insert(hash).second) continue;
      const std::string outcome = outcome_of(mutant.rule, audit, checks, known);
      ++counts[outcome];
      results << hash << "  " << outcome << "  " << mutant.rule.name << "  " << mutant.mistake
              << std::endl;
    }
    std::fprintf(stderr, "%zu of %zu rules, %s\n", ++done, set->rules.size(), rule.name.c_str());
  }
  for (const auto& [outcome, count] : counts) std::printf("%6d %s\n", count, outcome.c_str());
  return counts["WRONG"] > 0 ? 1 : 0;
}

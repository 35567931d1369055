// SPDX-License-Identifier: Apache-2.0
// verify_mutants SELECTION RESULTS [CHECKS]: plants mistakes in the selected rules
// (rules/testing/mutation.h) and writes the outcome of each mutant
// (rules/proving/mutation_trial.h), one line of RESULTS each:
//
//   HASH  OUTCOME  NAME  MISTAKE
//
// The first mutant of every rule comes first, then the second of every rule, and so on. Mutants
// that RESULTS already lists are skipped, so a run can be resumed. CHECKS (10000) is the number of
// instances on which a mutant must hold if the first few instances do not refute it. Exits 1 if one
// is WRONG.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "rules/programs/failure.h"
#include "rules/proving/mutation_trial.h"
#include "rules/tensors/rule_set.h"

namespace egret::rules {
namespace {

// The content of an existing RESULTS file.
struct Known {
  std::set<std::string> hashes;
  std::map<std::string, int> counts;  // by outcome

  explicit Known(const char* path) {
    std::ifstream old(path);
    for (std::string hash, outcome, rest; old >> hash >> outcome && std::getline(old, rest);) {
      if (hashes.insert(hash).second) ++counts[outcome];
    }
  }
};

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: verify_mutants SELECTION RESULTS [CHECKS]\n");
    return 2;
  }
  const auto set = select_rules(argv[1]);
  if (!set.ok()) return fail(set.status());
  MutantTrialOptions options;
  if (argc > 3) options.checks = std::atoi(argv[3]);
  Known known_results(argv[2]);
  for (const Rule& rule : set->rules) known_results.hashes.insert(content_hash(rule).to_hex());
  std::ofstream results(argv[2], std::ios::app);
  KnownOperators known;
  std::map<std::string, MutantTrial> trials;  // by rule
  bool more = true;
  for (std::size_t round = 0; more; ++round) {
    more = false;
    for (const Rule& rule : set->rules) {
      const std::vector<Mutant> mutants = mutants_of(rule);
      if (round >= mutants.size()) continue;
      more = true;
      const Mutant& mutant = mutants[round];
      const std::string hash = content_hash(mutant.rule).to_hex();
      if (!known_results.hashes.insert(hash).second) continue;
      auto& trial = trials.try_emplace(rule.name, rule, known, options).first->second;
      constexpr std::size_t kAuditEvery = 4;
      const std::string outcome(to_string(trial.outcome(mutant, round % kAuditEvery == 0)));
      ++known_results.counts[outcome];
      results << hash << "  " << outcome << "  " << mutant.rule.name << "  " << mutant.mistake
              << std::endl;
    }
    std::fprintf(stderr, "round %zu\n", round + 1);
  }
  for (const auto& [outcome, count] : known_results.counts)
    std::printf("%6d %s\n", count, outcome.c_str());
  return known_results.counts["WRONG"] > 0 ? 1 : 0;
}

}  // namespace
}  // namespace egret::rules

int main(int argc, char** argv) { return egret::rules::run(argc, argv); }

// SPDX-License-Identifier: Apache-2.0
// agree_exactly SELECTION RULES CHECKS RESULTS [SEED]: draws RULES proven rules from the selection.
// For each, compares both sides of CHECKS random instances in exact rational arithmetic
// (rules/testing/exact_comparison.h). Writes one line per rule to RESULTS:
//
//   HASH  verdict  INSTANCES  NAME
//
//   agrees     exactly, on all
//   functions  it needs the laws of functions that have no exact values, or has undefined instances
//              only; another rule is drawn in its place
//   DIFFERS    a proven rule is wrong
//
// Rules that RESULTS already lists are not run again, so a run can be resumed. Exits 1 if a rule
// differs or there are too few rules.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "rules/programs/failure.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"
#include "rules/testing/exact_comparison.h"

namespace egret::rules {
namespace {

struct Agreement {
  std::string verdict = "functions";
  int instances = 0;
};

Agreement agreement_of(const Rule& rule, int checks, std::uint64_t seed, KnownOperators& known) {
  constexpr int kAttemptsPerCheck = 300;
  constexpr int kFirstAttempts = 30'000;
  const base::Random random(base::hash_combine(seed, content_hash(rule).low));
  Instantiator instantiator(rule, known);
  Agreement result;
  for (std::int64_t i = 0; result.instances < checks; ++i) {
    if (i > kFirstAttempts + std::int64_t{kAttemptsPerCheck} * result.instances) return result;
    const base::Random own = random.split(static_cast<std::uint64_t>(i));
    const auto instance = instantiator.attempt(own);
    if (!instance) continue;
    switch (compare_exactly(*instance, own.split(1))) {
      case ExactOutcome::kEqual: ++result.instances; break;
      case ExactOutcome::kVoid: break;
      case ExactOutcome::kFunctions: return result;
      case ExactOutcome::kDifferent:
        std::printf("%s differs:\n%s", rule.name.c_str(), instance->text.c_str());
        result.verdict = "DIFFERS";
        return result;
    }
  }
  result.verdict = "agrees";
  return result;
}

// The proven rules that hold without rounding, in random order.
std::vector<Rule> drawn(std::vector<Rule> rules, const RuleStatuses& statuses,
                        base::Random random) {
  std::erase_if(rules, [&](const Rule& rule) {
    return statuses.of(rule) != RuleStatus::kProven || rule.has_tag("rounding");
  });
  for (std::size_t i = rules.size(); i > 1; --i) std::swap(rules[i - 1], rules[random.below(i)]);
  return rules;
}

int run(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: agree_exactly SELECTION RULES CHECKS RESULTS [SEED]\n");
    return 2;
  }
  auto set = select_rules(argv[1]);
  if (!set.ok()) return fail(set.status());
  const auto statuses = builtin_statuses();
  if (!statuses.ok()) return fail(statuses.status());
  const int wanted = std::atoi(argv[2]);
  const int checks = std::atoi(argv[3]);
  const std::uint64_t seed = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 1;
  std::map<std::string, std::string> before;  // verdicts by hash
  {
    std::ifstream old(argv[4]);
    for (std::string hash, verdict, rest; old >> hash >> verdict && std::getline(old, rest);)
      before[hash] = verdict;
  }
  std::ofstream results(argv[4], std::ios::app);
  KnownOperators known;
  std::map<std::string, int> counts;
  for (const Rule& rule : drawn(std::move(set->rules), *statuses, base::Random(seed))) {
    if (counts["agrees"] == wanted) break;
    const std::string hash = content_hash(rule).to_hex();
    if (const auto found = before.find(hash); found != before.end()) {
      ++counts[found->second];
      continue;
    }
    const Agreement agreement = agreement_of(rule, checks, seed, known);
    ++counts[agreement.verdict];
    results << hash << "  " << agreement.verdict << "  " << agreement.instances << "  " << rule.name
            << std::endl;
  }
  for (const auto& [verdict, count] : counts) std::printf("%6d %s\n", count, verdict.c_str());
  return counts["DIFFERS"] == 0 && counts["agrees"] >= wanted ? 0 : 1;
}

}  // namespace
}  // namespace egret::rules

int main(int argc, char** argv) { return egret::rules::run(argc, argv); }

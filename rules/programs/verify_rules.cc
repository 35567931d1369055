// SPDX-License-Identifier: Apache-2.0
// verify_rules SELECTION [--proof]: verifies the selected rules, one line each. Exits 1 when a rule
// is not proven.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "rules/rule_set.h"
#include "rules/verification.h"

namespace {

using namespace egret;
using namespace egret::rules;

std::string shortened(const std::string& text, bool proof) {
  return proof || text.size() < 300 ? text : text.substr(0, 300) + "...";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: verify_rules SELECTION [--proof]\n");
    return 2;
  }
  const bool proof = argc > 2 && std::strcmp(argv[2], "--proof") == 0;
  const auto set = select_rules(argv[1]);
  if (!set.ok()) {
    std::fprintf(stderr, "%s\n", set.status().message().c_str());
    return base::exit_code(set.status().code());
  }
  KnownSignatures known;
  std::map<std::string, int> counts;
  for (const Rule& rule : set->rules) {
    const auto begin = std::chrono::steady_clock::now();
    const Verdict verdict = verify(rule, {}, known);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::string status(to_string(verdict.status));
    ++counts[status];
    std::printf("%-9s %-40s %3d families %4d members %4d queries %7.3f s  %s\n", status.c_str(),
                rule.name.c_str(), verdict.families, verdict.members, verdict.queries, seconds,
                shortened(verdict.reason, proof).c_str());
    if (proof) {
      for (const std::string& text : verdict.proofs) std::printf("%s", text.c_str());
    }
    std::fflush(stdout);
  }
  for (const auto& [status, count] : counts) std::printf("%d %s\n", count, status.c_str());
  return counts["proven"] == static_cast<int>(set->rules.size()) ? 0 : 1;
}

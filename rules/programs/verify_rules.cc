// SPDX-License-Identifier: Apache-2.0
// verify_rules SELECTION [STATUS_FILE]: verifies the selected rules, one line each, and writes what
// was proven or refuted to STATUS_FILE, keeping what that file says otherwise. Times are processor
// time. Exits 1 when a rule is not proven. (egret rules verify is the same for users, without the
// file.)
#include <cstdio>
#include <ctime>
#include <map>
#include <string>

#include "base/file.h"
#include "rules/rule_set.h"
#include "rules/rule_status.h"
#include "rules/verification.h"

namespace {

using namespace egret;
using namespace egret::rules;

constexpr std::size_t kMostReason = 300;

int fail(const base::Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return base::exit_code(status.code());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: verify_rules SELECTION [STATUS_FILE]\n");
    return 2;
  }
  const auto set = select_rules(argv[1]);
  if (!set.ok()) return fail(set.status());
  RuleStatuses statuses;
  if (argc > 2) {
    auto read = read_statuses(argv[2]);
    if (!read.ok()) return fail(read.status());
    statuses = *std::move(read);
  }
  KnownSignatures known;
  std::map<std::string, int> counts;
  for (const Rule& rule : set->rules) {
    const std::clock_t begin = std::clock();
    const Verdict verdict = verify(rule, {}, known);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    const std::string status(to_string(verdict.status));
    ++counts[status];
    std::printf("%-9s %-40s %3d families %4d members %4d queries %7.3f s  %s\n", status.c_str(),
                rule.name.c_str(), verdict.families, verdict.members, verdict.solver.queries, seconds,
                verdict.reason.substr(0, kMostReason).c_str());
    std::fflush(stdout);
    if (argc < 3) continue;
    statuses.record(rule, verdict);  // after each rule: the work is long
    if (const auto written = base::write_file(argv[2], statuses.to_json()); !written.ok())
      return fail(written);
  }
  for (const auto& [status, count] : counts) std::printf("%d %s\n", count, status.c_str());
  return counts["proven"] == static_cast<int>(set->rules.size()) ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// test_rules SELECTION CHECKS [STATUS_FILE]: tests the selected rules and prints one line each.
// Writes the results to STATUS_FILE and keeps its entries for other rules. Rules that were already
// tested with at least as many checks are skipped, so a run can be resumed. Exits 1 if a rule is
// refuted or cannot be tested.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/system/file.h"
#include "rules/programs/failure.h"
#include "rules/proving/instance_search.h"
#include "rules/proving/record.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"
#include "rules/testing/tester.h"

namespace egret::rules {
namespace {

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: test_rules SELECTION CHECKS [STATUS_FILE]\n");
    return 2;
  }
  const auto set = select_rules(argv[1]);
  if (!set.ok()) return fail(set.status());
  TestOptions options;
  options.checks = std::atoi(argv[2]);
  options.solved = solved_instances;
  RuleStatuses statuses;
  if (argc > 3) {
    auto read = read_statuses(argv[3]);
    if (!read.ok()) return fail(read.status());
    statuses = *std::move(read);
  }
  KnownOperators known;
  int wrong = 0;
  for (const Rule& rule : set->rules) {
    const RuleStatuses::Entry* entry = statuses.find(content_hash(rule));
    if (entry != nullptr && entry->status >= RuleStatus::kTested && entry->checks >= options.checks)
      continue;  // nothing new would be learned
    const auto begin = std::chrono::steady_clock::now();
    const TestReport report = test_rule(rule, options, known);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%-11s %-40s %7d checks %9d attempts %7.2f s\n",
                std::string(to_string(report.verdict)).c_str(), rule.name.c_str(), report.checks,
                report.attempts, seconds);
    if (!report.counterexample.empty()) std::printf("%s", report.counterexample.c_str());
    std::fflush(stdout);
    record(statuses, rule, report);
    if (argc > 3) {  // after each rule: the work is long
      if (const auto written = base::write_file(argv[3], statuses.to_json()); !written.ok())
        return fail(written);
    }
    wrong += report.verdict == TestReport::Verdict::kTested ? 0 : 1;
  }
  std::printf("%d of %zu rules failed\n", wrong, set->rules.size());
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace egret::rules

int main(int argc, char** argv) { return egret::rules::run(argc, argv); }

// SPDX-License-Identifier: Apache-2.0
// verify_rules SELECTION [STATUS_FILE [quick|usual]]: verifies the selected rules and prints one
// line each. Writes proofs and refutations to STATUS_FILE and keeps its other entries. If all rules
// are selected, it removes entries of rules that no longer exist. Uses EGRET_THREADS threads; times
// are processor time. Exits 1 if a rule is not proven. (Users should run egret rules verify, which
// writes no file. This program follows more paths and looks at more small instances than its
// defaults; with `quick`, at no more small instances, which takes a tenth of the time. `usual` has
// the defaults: for rules that would otherwise take an hour.)
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/system/file.h"
#include "base/system/in_order.h"
#include "base/thread_clock.h"
#include "rules/programs/failure.h"
#include "rules/proving/record.h"
#include "rules/proving/verification.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"

namespace egret::rules {
namespace {

constexpr std::size_t kMostReason = 300;

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: verify_rules SELECTION [STATUS_FILE [quick|usual]]\n");
    return 2;
  }
  const auto set = select_rules(argv[1]);
  if (!set.ok()) return fail(set.status());
  RuleStatuses statuses;
  if (argc > 2) {
    auto read = read_statuses(argv[2]);
    if (!read.ok()) return fail(read.status());
    statuses = *std::move(read);
    if (argv[1] == std::string_view("all")) statuses.keep_only(*set);
  }
  struct Row {
    Verdict verdict;
    double seconds;
  };
  const std::string_view mode = argc > 3 ? argv[3] : "";
  VerifyOptions how = mode == "usual" ? VerifyOptions() : thorough_options();
  if (mode == "quick") how.small_effort = VerifyOptions().small_effort;
  KnownOperators known;
  std::map<std::string, int> counts;
  base::Status written = base::ok();
  base::in_order<Row>(
      base::shared_pool(), set->rules.size(),
      [&](std::size_t i) {
        const base::ThreadStopwatch watch;
        Verdict verdict = verify(set->rules[i], how, known);
        return std::optional(Row{std::move(verdict), watch.seconds()});
      },
      [&](std::size_t i, const Row& row) {
        const Rule& rule = set->rules[i];
        const std::string status(to_string(row.verdict.status));
        ++counts[status];
        const Covered& cover = row.verdict.cover;
        std::printf(
            "%-9s %-40s %3d families %3d of %3d kinds covered %2d axes %4d queries %7.3f s  %s\n",
            status.c_str(), rule.name.c_str(), row.verdict.families, cover.complete, cover.kinds,
            row.verdict.axes, row.verdict.solver.queries, row.seconds,
            (row.verdict.reason.empty() ? cover.open : row.verdict.reason)
                .substr(0, kMostReason)
                .c_str());
        std::fflush(stdout);
        if (argc < 3 || !written.ok()) return;
        record(statuses, rule, row.verdict);  // after each rule: the work is long
        written = base::write_file(argv[2], statuses.to_json());
      });
  if (!written.ok()) return fail(written);
  for (const auto& [status, count] : counts) std::printf("%d %s\n", count, status.c_str());
  return counts["proven"] == static_cast<int>(set->rules.size()) ? 0 : 1;
}

}  // namespace
}  // namespace egret::rules

int main(int argc, char** argv) { return egret::rules::run(argc, argv); }

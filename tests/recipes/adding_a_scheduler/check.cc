// SPDX-License-Identifier: Apache-2.0
// What follows from one file and one row: the scheduler is listed, is made by name, and takes a run
// to the same end as the simple one. Prints the first thing that does not hold and exits with 1.
#include <algorithm>
#include <iostream>
#include <string>

#include "egraph/search/runner.h"
#include "egraph/search/syntax.h"

namespace {

using namespace egret;
using namespace egret::egraph;

base::Status expect(bool holds, const std::string& what) {
  return holds ? base::ok() : base::mismatch("this does not hold: " + what);
}

// Runs to saturation; the number of classes.
base::Result<std::size_t> saturate(std::string_view scheduler) {
  OpTable ops;
  const Syntax syntax(ops);
  EGRET_ASSIGN_OR_RETURN(const auto rules,
                         syntax.rules("commute: (+ ?a ?b) => (+ ?b ?a)\n"
                                      "associate: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)\n"
                                      "never: (* ?a 1) => ?a\n"));
  EGraph egraph(ops);
  EGRET_RETURN_IF_ERROR(syntax.add_term(egraph, "(+ a (+ b (+ c (+ d e))))").status());
  Runner runner(egraph, rules);
  EGRET_ASSIGN_OR_RETURN(auto made, make_scheduler(scheduler));
  runner.set_scheduler(std::move(made));
  runner.limits().iterations = 100;
  const RunReport report = runner.run();
  EGRET_RETURN_IF_ERROR(expect(report.stop == StopReason::kSaturated, "the run saturates"));
  return egraph.class_count();
}

base::Status check() {
  const auto rows = schedulers();
  EGRET_RETURN_IF_ERROR(
      expect(std::any_of(rows.begin(), rows.end(),
                         [](const SchedulerRow& row) { return row.name == "lazy"; }),
             "the scheduler is listed"));
  EGRET_ASSIGN_OR_RETURN(const std::size_t classes, saturate("lazy"));
  EGRET_ASSIGN_OR_RETURN(const std::size_t expected, saturate("simple"));
  EGRET_RETURN_IF_ERROR(expect(expected == 31, "five symbols have 31 sums"));
  return expect(classes == expected, "both schedulers come to the same end");
}

}  // namespace

int main() {
  const base::Status status = check();
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}

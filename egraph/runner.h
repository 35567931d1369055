// SPDX-License-Identifier: Apache-2.0
// Equality saturation: apply all rules until nothing is new or a limit is reached.
//
// An iteration searches all rules on the frozen e-graph, in their order; applies the matches in the
// same order; and rebuilds. A run that stops, for whatever reason, leaves a rebuilt e-graph; an
// iteration that a limit cuts off keeps what was applied until then. Deterministic unless the time
// limit strikes; ticks bound a run in units that repeat.
//
//   Runner runner(egraph, rules);
//   runner.limits().nodes = 10'000;
//   const RunReport report = runner.run();
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "egraph/egraph.h"
#include "egraph/limits.h"
#include "egraph/matcher.h"
#include "egraph/rewrite.h"
#include "egraph/scheduler.h"

namespace egret::egraph {

struct RuleStats {
  std::string name;
  std::uint64_t searches = 0;
  std::uint64_t bans = 0;       // searches whose matches the scheduler dropped
  std::uint64_t matches = 0;    // found and not dropped
  std::uint64_t applied = 0;    // of these: changed the e-graph
  std::uint64_t unchanged = 0;  // said nothing new
  std::uint64_t rejected = 0;   // a condition did not hold
  std::uint64_t refused = 0;    // the analysis or a builder refused
  std::string first_refusal;    // and why, the first time
  double search_seconds = 0;
  double apply_seconds = 0;
};

struct IterationStats {
  std::size_t nodes = 0;  // after the rebuild
  std::size_t classes = 0;
  std::size_t bytes = 0;
  std::uint64_t matches = 0;
  std::uint64_t applied = 0;
  std::uint64_t keys = 0;  // EGraph::keys_inserted() after it
  double search_seconds = 0;
  double apply_seconds = 0;
  double rebuild_seconds = 0;
};

struct RunReport {
  StopReason stop = StopReason::kSaturated;
  base::Status conflict;  // with kConflict
  std::vector<IterationStats> iterations;
  std::vector<RuleStats> rules;
  std::uint64_t ticks = 0;
  double seconds = 0;

  double search_seconds() const;
  double apply_seconds() const;
  double rebuild_seconds() const;
};

class Runner {
 public:
  // Hooks return false to stop the run (StopReason::kHook).
  struct Hooks {
    // Before each iteration, on a rebuilt e-graph, which it may change and rebuild: goals,
    // progress.
    std::function<bool(EGraph&, const RunReport&)> before_iteration;
    // After each rule's matches were applied; the e-graph is not rebuilt.
    std::function<bool(const EGraph&, std::size_t rule)> after_rule;
  };

  // The e-graph and the rules must outlive the runner.
  Runner(EGraph& egraph, std::span<const Rewrite> rules);

  Limits& limits() { return limits_; }
  Hooks& hooks() { return hooks_; }
  // BackoffScheduler unless another is given.
  void set_scheduler(std::unique_ptr<Scheduler> scheduler) { scheduler_ = std::move(scheduler); }

  // May be called again to go on; the report is of this call alone.
  RunReport run();

 private:
  struct Rule {
    const Rewrite* rewrite;
    Matcher matcher;
    MatchBuffer matches;
  };
  // Why the current phase must end, if it must.
  using Stop = std::optional<StopReason>;

  Stop iterate(RunReport& report, Budget& budget);
  Stop search_all(RunReport& report, IterationStats& stats, Budget& budget);
  Stop apply_all(RunReport& report, IterationStats& stats, Budget& budget);
  Stop apply(Rule& rule, RuleStats& stats, Budget& budget);
  Stop check_size() const;
  std::size_t bytes() const;
  std::uint64_t fitting_matches(const Rule& rule) const;

  EGraph& egraph_;
  std::vector<Rule> rules_;
  std::unique_ptr<Scheduler> scheduler_;
  Limits limits_;
  Hooks hooks_;
};

}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
// Equality saturation: applies all rules until nothing is new or a limit is reached.
//
// An iteration has three phases. It searches all rules on the frozen e-graph, applies the matches
// in rule order, and rebuilds. Rules look only at what changed since their matches were last
// applied (egraph/search/rule_search.h), and at old matches worth another try
// (egraph/search/watch_list.h). A run always ends with a rebuilt e-graph. An iteration cut off by a
// limit keeps what was applied so far. Runs are deterministic with any number of threads unless the
// time limit is reached; tick limits bound a run reproducibly.
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
#include "egraph/core/egraph.h"
#include "egraph/schedulers/scheduler.h"
#include "egraph/search/limits.h"
#include "egraph/search/match_blocks.h"
#include "egraph/search/match_buffer.h"
#include "egraph/search/rewrite.h"
#include "egraph/search/rule_search.h"
#include "egraph/search/watch_list.h"

namespace egret::egraph {

struct RuleStats {
  std::string name;
  std::uint64_t searches = 0;
  std::uint64_t bans = 0;       // searches whose matches the scheduler dropped
  std::uint64_t matches = 0;    // new ones found and not dropped
  std::uint64_t retries = 0;    // old ones tried again
  std::uint64_t applied = 0;    // of these: changed the e-graph
  std::uint64_t unchanged = 0;  // said nothing new
  std::uint64_t rejected = 0;   // a condition did not hold
  std::uint64_t refused = 0;    // the analysis or a builder refused
  std::string first_refusal;    // and why, the first time
  double search_seconds = 0;    // rules are searched together: estimated by their matches
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
  // A hook returns false to stop the run (StopReason::kHook).
  struct Hooks {
    // Called before each iteration on a rebuilt e-graph: for goals and progress. The hook may
    // change the e-graph and must then rebuild it.
    std::function<bool(EGraph&, const RunReport&)> before_iteration;
    // Called after each rule's matches were applied; the e-graph is not rebuilt.
    std::function<bool(const EGraph&, std::size_t rule)> after_rule;
  };

  // The e-graph and the rules must outlive the runner.
  Runner(EGraph& egraph, std::span<const Rewrite> rules);

  Limits& limits() { return limits_; }
  Hooks& hooks() { return hooks_; }
  // The default is a BackoffScheduler.
  void set_scheduler(std::unique_ptr<Scheduler> scheduler) { scheduler_ = std::move(scheduler); }

  // Searches with these threads; null (the default) uses the calling thread only. Results do not
  // change.
  void set_threads(base::ThreadPool* pool) { pool_ = pool; }

  // Whether the run may return memory: that of dead nodes (EGraph::compact()) after an iteration
  // with many of them, and unused capacity at the end. The default is yes. Clients that hold
  // NodeIds must say no.
  void set_compaction(bool compacts) { compacts_ = compacts; }

  // May be called again to continue; the report covers this call only.
  RunReport run();

  // For runs that survive an interruption: the state that a later run needs, besides a snapshot of
  // the e-graph, to continue as this one. Must be called from before_iteration(). This run then
  // forgets which matches it has seen, as the resumed run must, so both behave identically from
  // there.
  std::vector<std::uint64_t> save();
  // Must be called before run(), with the same rules and kind of scheduler. Iterations are counted
  // on from the saved number, also for the iteration limit.
  base::Status resume(std::span<const std::uint64_t> saved);

 private:
  struct Rule {
    const Rewrite* rewrite;
    WatchList watched;    // old matches that may be worth another try,
    MatchBuffer retries;  // those tried again now
    Epoch seen = 0;       // the e-graph's epoch when its matches were last applied
  };
  // The values that identify a state of the e-graph.
  struct State {
    Epoch epoch;
    NodeId next_node;
    std::size_t ids;
    std::uint64_t merges;
    friend bool operator==(const State&, const State&) = default;
  };
  // The reason to end the current phase, if any.
  using Stop = std::optional<StopReason>;

  Stop iterate(RunReport& report, Budget& budget);
  Stop search_all(RunReport& report, IterationStats& stats, Budget& budget);
  void accept_matches(RunReport& report, IterationStats& stats);
  void take_retries();
  Stop apply_all(RunReport& report, IterationStats& stats, Budget& budget);
  Stop apply_rule(std::size_t index, RuleStats& stats, Budget& budget);
  void apply_one(Rule& rule, const Match& match, RuleStats& stats);
  void reserve(std::uint64_t matches);
  void compact();
  bool may_move() const;
  Stop apply(Rule& rule, std::span<const MatchRun> matches, RuleStats& stats, Budget& budget);
  std::size_t block_size(const Rule& rule) const;
  Stop apply_singly(Rule& rule, MatchBlocks& matches, RuleStats& stats, Budget& budget);
  void start();
  State state() const;
  void forget();
  Stop check_size() const;
  std::size_t bytes() const;

  EGraph& egraph_;
  std::vector<Rule> rules_;
  std::vector<std::uint32_t> inverse_of_;
  RuleSearch search_;
  std::vector<RuleSearch::Request> requests_;
  std::vector<bool> accepted_;
  std::unique_ptr<Scheduler> scheduler_;
  base::ThreadPool* pool_ = nullptr;
  std::optional<State> end_;  // of the last run
  std::vector<std::uint64_t> resumed_;
  std::uint64_t iteration_ = 0;
  bool compacts_ = true;
  double growth_ = 0;  // nodes that a match added in the last iteration
  bool idle_ = false;  // it changed nothing, and the scheduler waits for nothing
  Limits limits_;
  Hooks hooks_;
};

}  // namespace egret::egraph

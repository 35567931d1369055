// SPDX-License-Identifier: Apache-2.0
// Which rules may run in an iteration, and how far. A scheduler is one file in egraph/schedulers/
// and one row in its schedulers.def (docs/adding_a_scheduler.md). It sees counts only, so it cannot
// make a run depend on anything but the input.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace egret::egraph {

class Scheduler {
 public:
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0} >> 1;

  virtual ~Scheduler() = default;

  // Called before a run.
  virtual void start(std::size_t rules) { (void)rules; }
  // After start(): for each rule the one that undoes it, or its own number. When that one has
  // nothing left to say, a search for this one is likely to cost nothing
  // (egraph/search/inverse_rules.h).
  virtual void learn_inverses(std::span<const std::uint32_t> inverse_of) { (void)inverse_of; }
  // How many matches of this rule are welcome now; 0: do not even search. Asked once for each rule,
  // before any is searched.
  virtual std::uint64_t match_limit(std::uint64_t iteration, std::size_t rule) = 0;
  // Whether a rule with more matches than its limit keeps those within it and goes on with the rest
  // when it is searched next. The limit then counts matches that were not there before. Otherwise
  // it counts all matches in the e-graph, and a rule with more of them has none: they will be found
  // again.
  virtual bool resumes() const { return false; }
  // After a search with a limit above 0. Whether to apply the matches (false leaves them for
  // another time); `exceeded` says that there are more than the limit: without resumes(), none can
  // be applied.
  virtual bool accept(std::uint64_t iteration, std::size_t rule, bool exceeded) = 0;
  // What came of the matches that were accepted, for those who learn from it.
  struct Yield {
    std::uint64_t matches = 0;
    std::uint64_t changed = 0;  // of these: changed the e-graph
  };
  virtual void applied(std::uint64_t iteration, std::size_t rule, const Yield& yield) {
    (void)iteration, (void)rule, (void)yield;
  }
  // Nothing changed in this iteration: whether that means saturation. A scheduler that held rules
  // back says false, and lets at least one of them run next. Where it says true but resumed rules
  // have matches left, these are all applied next, whatever their limits: a run does not go on
  // without end when the scheduler asks for other rules only.
  virtual bool may_stop(std::uint64_t iteration) = 0;

  // All that it knows, so that an interrupted run can go on as it would have. restore() comes after
  // start() and says whether the words are of this kind of scheduler and number of rules.
  virtual std::vector<std::uint64_t> save() const { return {}; }
  virtual bool restore(std::span<const std::uint64_t> words) { return words.empty(); }
};

struct SchedulerRow {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Scheduler> (*make)();
};
std::span<const SchedulerRow> schedulers();
// By name; a usage error lists the names there are.
base::Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view name);

}  // namespace egret::egraph

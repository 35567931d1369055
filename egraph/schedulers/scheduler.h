// SPDX-License-Identifier: Apache-2.0
// Decides which rules run in an iteration and with how many matches. A scheduler is one file in
// egraph/schedulers/ and one row in its schedulers.def (docs/adding_a_scheduler.md). It sees only
// counts, so a run depends on nothing but its input.
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
  // Called after start(). inverse_of[r] is the rule that undoes rule r, or r itself. If the inverse
  // yields nothing new, a search for r is usually free (egraph/search/inverse_rules.h).
  virtual void learn_inverses(std::span<const std::uint32_t> inverse_of) { (void)inverse_of; }
  // The number of matches that this rule may have now; 0 means that it is not searched. Called once
  // for each rule, before any search.
  virtual std::uint64_t match_limit(std::uint64_t iteration, std::size_t rule) = 0;
  // Whether a rule that exceeds its limit keeps the matches within it and resumes with the rest at
  // its next search. The limit then counts new matches only. Otherwise the limit counts all matches
  // in the e-graph, and a rule that exceeds it gets none; a later search finds them again.
  virtual bool resumes() const { return false; }
  // Called after a search with a limit above 0. Returns whether to apply the matches; false leaves
  // them for later. `exceeded` means that there are more matches than the limit. Without resumes(),
  // none of them can be applied then.
  virtual bool accept(std::uint64_t iteration, std::size_t rule, bool exceeded) = 0;
  // The result of applying accepted matches, for schedulers that learn from it.
  struct Yield {
    std::uint64_t matches = 0;
    std::uint64_t changed = 0;  // of these: changed the e-graph
  };
  virtual void applied(std::uint64_t iteration, std::size_t rule, const Yield& yield) {
    (void)iteration, (void)rule, (void)yield;
  }
  // Called when an iteration changed nothing: whether that means saturation. A scheduler that held
  // rules back returns false and lets at least one of them run next. If it returns true but resumed
  // rules have matches left, all of these are applied next, whatever their limits. This bounds a
  // run whose scheduler asks for other rules only.
  virtual bool may_stop(std::uint64_t iteration) = 0;

  // The scheduler's state, for resuming an interrupted run. restore() is called after start(). It
  // returns whether the words fit this kind of scheduler and this number of rules.
  virtual std::vector<std::uint64_t> save() const { return {}; }
  virtual bool restore(std::span<const std::uint64_t> words) { return words.empty(); }
};

struct SchedulerRow {
  std::string_view name;
  std::string_view help;
  std::unique_ptr<Scheduler> (*make)();
};
std::span<const SchedulerRow> schedulers();
// Makes a scheduler by name. An unknown name is a usage error that lists the valid names.
base::Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view name);

}  // namespace egret::egraph

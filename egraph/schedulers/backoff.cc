// SPDX-License-Identifier: Apache-2.0
#include "egraph/schedulers/backoff.h"

#include <algorithm>

namespace egret::egraph {

std::uint64_t BackoffScheduler::match_limit(std::uint64_t iteration, std::size_t rule) {
  const Rule& state = rules_[rule];
  return iteration < state.banned_until ? 0 : match_limit_ << state.bans;
}

// Exponential backoff (egg's default scheduler): both the limit and the length of the ban double
// with each ban. An explosive rule thus gets a bounded share of the matches, and every rule is
// tried again after a finite time, so no rule starves.
bool BackoffScheduler::accept(std::uint64_t iteration, std::size_t rule, bool exceeded) {
  if (!exceeded) return true;
  Rule& state = rules_[rule];
  state.banned_until = iteration + (ban_length_ << state.bans);
  constexpr unsigned kMaxBans = 40;  // keeps the shifts in range
  state.bans = std::min(state.bans + 1, kMaxBans);
  return false;
}

// Advances time for all banned rules together until the first of them is free.
bool BackoffScheduler::may_stop(std::uint64_t iteration) {
  std::uint64_t skip = 0;
  for (const Rule& rule : rules_) {
    if (rule.banned_until <= iteration) continue;
    const std::uint64_t left = rule.banned_until - iteration;
    skip = skip == 0 ? left : std::min(skip, left);
  }
  // Without this step the run would spend whole iterations in which nothing is searched.
  if (skip == 0) return true;
  for (Rule& rule : rules_) {
    if (rule.banned_until > iteration) rule.banned_until -= skip;
  }
  return false;
}

std::vector<std::uint64_t> BackoffScheduler::save() const {
  std::vector<std::uint64_t> words;
  for (const Rule& rule : rules_) words.insert(words.end(), {rule.bans, rule.banned_until});
  return words;
}

bool BackoffScheduler::restore(std::span<const std::uint64_t> words) {
  if (words.size() != 2 * rules_.size()) return false;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    rules_[i] = {static_cast<unsigned>(std::min<std::uint64_t>(words[2 * i], 40)),
                 words[2 * i + 1]};
  }
  return true;
}

namespace scheduling {

SchedulerRow backoff() {
  return {"backoff", "rules with too many matches pause, longer each time",
          []() -> std::unique_ptr<Scheduler> { return std::make_unique<BackoffScheduler>(); }};
}

}  // namespace scheduling
}  // namespace egret::egraph

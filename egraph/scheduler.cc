// SPDX-License-Identifier: Apache-2.0
#include "egraph/scheduler.h"

#include <algorithm>
#include <array>
#include <string>

namespace egret::egraph {
namespace {

constexpr std::array kSchedulers = {
    SchedulerRow{
        "simple", "every rule in every iteration",
        []() -> std::unique_ptr<Scheduler> { return std::make_unique<SimpleScheduler>(); }},
    SchedulerRow{
        "backoff", "rules with too many matches pause, longer each time",
        []() -> std::unique_ptr<Scheduler> { return std::make_unique<BackoffScheduler>(); }},
};

}  // namespace

std::uint64_t BackoffScheduler::match_limit(std::uint64_t iteration, std::size_t rule) {
  const Rule& state = rules_[rule];
  return iteration < state.banned_until ? 0 : match_limit_ << state.bans;
}

bool BackoffScheduler::accept(std::uint64_t iteration, std::size_t rule, bool exceeded) {
  if (!exceeded) return true;
  Rule& state = rules_[rule];
  state.banned_until = iteration + (ban_length_ << state.bans);
  constexpr unsigned kMaxBans = 40;  // keeps the shifts in range
  state.bans = std::min(state.bans + 1, kMaxBans);
  return false;
}

// Time passes at once for all banned rules until the first of them is free.
bool BackoffScheduler::may_stop(std::uint64_t iteration) {
  std::uint64_t skip = 0;
  for (const Rule& rule : rules_) {
    if (rule.banned_until <= iteration) continue;
    const std::uint64_t left = rule.banned_until - iteration;
    skip = skip == 0 ? left : std::min(skip, left);
  }
  if (skip == 0) return true;
  for (Rule& rule : rules_) {
    if (rule.banned_until > iteration) rule.banned_until -= skip;
  }
  return false;
}

std::span<const SchedulerRow> schedulers() { return kSchedulers; }

base::Result<std::unique_ptr<Scheduler>> make_scheduler(std::string_view name) {
  std::string names;
  for (const SchedulerRow& row : kSchedulers) {
    if (row.name == name) return row.make();
    names.append(names.empty() ? "" : ", ").append(row.name);
  }
  return base::usage_error(
      std::string("no scheduler '").append(name).append("'; there are: ").append(names));
}

}  // namespace egret::egraph

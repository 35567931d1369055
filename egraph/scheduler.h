// SPDX-License-Identifier: Apache-2.0
// Which rules may run in an iteration, and how far. A scheduler is one class and one row in
// schedulers(); it sees counts only, so it cannot make a run depend on anything but the input.
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
  // How many matches of this rule are welcome now; 0: do not even search.
  virtual std::uint64_t match_limit(std::uint64_t iteration, std::size_t rule) = 0;
  // After a search with a limit above 0. Whether to apply the matches (false drops them all);
  // `exceeded` says that there were more than the limit.
  virtual bool accept(std::uint64_t iteration, std::size_t rule, bool exceeded) = 0;
  // Nothing changed in this iteration: whether that means saturation. A scheduler that held rules
  // back says false, and lets at least one of them run next.
  virtual bool may_stop(std::uint64_t iteration) = 0;
};

// Every rule, every iteration, all matches.
class SimpleScheduler : public Scheduler {
 public:
  std::uint64_t match_limit(std::uint64_t, std::size_t) override { return kUnlimited; }
  bool accept(std::uint64_t, std::size_t, bool) override { return true; }
  bool may_stop(std::uint64_t) override { return true; }
};

// Exponential backoff (egg's default): a rule with more than match_limit << bans matches in one
// iteration is dropped for ban_length << bans iterations, so that explosive rules (associativity)
// do not drown the others.
class BackoffScheduler : public Scheduler {
 public:
  explicit BackoffScheduler(std::uint64_t match_limit = 1000, std::uint64_t ban_length = 5)
      : match_limit_(match_limit), ban_length_(ban_length) {}

  void start(std::size_t rules) override { rules_.assign(rules, {}); }
  std::uint64_t match_limit(std::uint64_t iteration, std::size_t rule) override;
  bool accept(std::uint64_t iteration, std::size_t rule, bool exceeded) override;
  bool may_stop(std::uint64_t iteration) override;

 private:
  struct Rule {
    unsigned bans = 0;
    std::uint64_t banned_until = 0;
  };

  std::uint64_t match_limit_;
  std::uint64_t ban_length_;
  std::vector<Rule> rules_;
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

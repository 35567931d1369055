// SPDX-License-Identifier: Apache-2.0
// Exponential backoff (egg's default). A rule with more than match_limit << bans matches in one
// iteration is banned for ban_length << bans iterations. Explosive rules (associativity) thus do
// not crowd out the others.
#pragma once

#include "egraph/schedulers/scheduler.h"

namespace egret::egraph {

class BackoffScheduler : public Scheduler {
 public:
  explicit BackoffScheduler(std::uint64_t match_limit = 1000, std::uint64_t ban_length = 5)
      : match_limit_(match_limit), ban_length_(ban_length) {}

  void start(std::size_t rules) override { rules_.assign(rules, {}); }
  std::uint64_t match_limit(std::uint64_t iteration, std::size_t rule) override;
  bool accept(std::uint64_t iteration, std::size_t rule, bool exceeded) override;
  bool may_stop(std::uint64_t iteration) override;
  std::vector<std::uint64_t> save() const override;
  bool restore(std::span<const std::uint64_t> words) override;

 private:
  struct Rule {
    unsigned bans = 0;
    std::uint64_t banned_until = 0;
  };

  std::uint64_t match_limit_;
  std::uint64_t ban_length_;
  std::vector<Rule> rules_;
};

}  // namespace egret::egraph

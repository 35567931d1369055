// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "egraph/schedulers/scheduler.h"

namespace egret::egraph::scheduling {
namespace {

// Runs one rule per iteration. Each rule sees the results of the one before, with congruence
// restored. Classes are thus merged before other rules look at their parts, and fewer matches are
// found again through other ids. Of two inverse rules, the later one waits until no other rule
// changes anything; it then rarely needs a search (egraph/search/inverse_rules.h). For runs to
// saturation: explosive rules are not limited.
class InTurn : public Scheduler {
 public:
  void start(std::size_t rules) override {
    rules_ = rules;
    turns_.clear();
    waiting_.clear();
    for (std::size_t rule = 0; rule < rules; ++rule) turns_.push_back(rule);
    at_ = idle_ = 0;
  }
  void learn_inverses(std::span<const std::uint32_t> inverse_of) override {
    const auto waits = [&](std::size_t rule) { return inverse_of[rule] < rule; };
    std::ranges::copy_if(turns_, std::back_inserter(waiting_), waits);
    std::erase_if(turns_, waits);
  }

  std::uint64_t match_limit(std::uint64_t, std::size_t rule) override {
    return rule == turn() ? kUnlimited : 0;
  }
  bool accept(std::uint64_t, std::size_t, bool) override { return true; }
  void applied(std::uint64_t, std::size_t, const Yield& yield) override {
    if (idle_ < turns_.size()) at_ = (at_ + 1) % turns_.size();
    idle_ = yield.changed > 0 ? 0 : idle_ + 1;
  }
  // Saturated: each rule, a waiting one too, was the last to run since anything changed.
  bool may_stop(std::uint64_t) override { return idle_ >= rules_; }

  std::vector<std::uint64_t> save() const override { return {at_, idle_}; }
  bool restore(std::span<const std::uint64_t> words) override {
    if (words.size() != 2 || words[0] >= std::max<std::size_t>(turns_.size(), 1)) return false;
    at_ = words[0];
    idle_ = words[1];
    return true;
  }

 private:
  // The first turns_.size() idle turns show that no rule in the circle changes anything. Then the
  // waiting rules run one by one. A change sets idle_ to 0 and returns to the circle.
  std::size_t turn() const {
    const bool waited = idle_ >= turns_.size() && idle_ < rules_;
    return waited ? waiting_[idle_ - turns_.size()] : turns_[at_];
  }

  std::size_t rules_ = 0;
  std::vector<std::size_t> turns_;    // rules without an earlier inverse, in turn
  std::size_t at_ = 0;                // the next of them
  std::vector<std::size_t> waiting_;  // rules that run only when those are idle
  std::size_t idle_ = 0;              // the number of latest rules that changed nothing
};

}  // namespace

SchedulerRow in_turn() {
  return {"in-turn", "one rule in each iteration, inverses of others last",
          []() -> std::unique_ptr<Scheduler> { return std::make_unique<InTurn>(); }};
}

}  // namespace egret::egraph::scheduling

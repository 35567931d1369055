// SPDX-License-Identifier: Apache-2.0
#include "egraph/schedulers/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "egraph/search/runner.h"
#include "egraph/search/syntax.h"

namespace egret::egraph {
namespace {

TEST(Scheduler, IsFoundByNameOnly) {
  for (const SchedulerRow& row : schedulers()) EXPECT_TRUE(make_scheduler(row.name).ok());
  const auto none = make_scheduler("fast");
  ASSERT_EQ(none.status().code(), base::StatusCode::kUsage);
  EXPECT_NE(none.status().message().find("backoff-resume"), std::string::npos);
}

TEST(Scheduler, BackoffGoesOnWhereItWasSaved) {
  const auto a = *make_scheduler("backoff"), b = *make_scheduler("backoff");
  a->start(2);
  EXPECT_FALSE(a->accept(3, 1, true));
  const auto words = a->save();
  b->start(3);
  EXPECT_FALSE(b->restore(words));  // another number of rules
  b->start(2);
  ASSERT_TRUE(b->restore(words));
  for (std::uint64_t iteration = 4; iteration < 12; ++iteration) {
    for (const std::size_t rule : {0, 1}) {
      EXPECT_EQ(a->match_limit(iteration, rule), b->match_limit(iteration, rule));
    }
  }
  EXPECT_EQ(b->match_limit(4, 1), 0U);
  EXPECT_EQ(b->match_limit(8, 1), 2000U);
}

struct Outcome {
  RunReport report;
  std::size_t classes;
};

Outcome sum_of_eight(std::unique_ptr<Scheduler> scheduler, std::uint64_t iterations) {
  OpTable ops;
  const Syntax syntax(ops);
  const auto rules = *syntax.rules(
      "commute: (+ ?a ?b) => (+ ?b ?a)\n"
      "associate: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)\n");
  EGraph egraph(ops);
  (void)*syntax.add_term(egraph, "(+ a (+ b (+ c (+ d (+ e (+ f (+ g h)))))))");
  Runner runner(egraph, rules);
  runner.set_scheduler(std::move(scheduler));
  runner.limits().iterations = iterations;
  RunReport report = runner.run();
  return {std::move(report), egraph.class_count()};
}
Outcome sum_of_eight(std::string_view scheduler) {
  return sum_of_eight(*make_scheduler(scheduler), 300);
}

TEST(Scheduler, InTurnLetsInversesWaitAndGoesOnWhereItWasSaved) {
  const std::vector<std::uint32_t> inverse_of = {0, 3, 2, 1};
  const auto make = [&] {
    auto scheduler = *make_scheduler("in-turn");
    scheduler->start(4);
    scheduler->learn_inverses(inverse_of);
    return scheduler;
  };
  auto scheduler = make();
  std::string turns;
  const auto turn = [&](std::uint64_t changed) {
    for (std::size_t rule = 0; rule < 4; ++rule) {
      if (scheduler->match_limit(0, rule) == 0) continue;
      turns += static_cast<char>('0' + rule);
      EXPECT_TRUE(scheduler->accept(0, rule, false));
      scheduler->applied(0, rule, {1, changed});
      return;
    }
    turns += '?';
  };
  for (const std::uint64_t changed : {1, 1, 1, 1, 0, 0, 0}) turn(changed);
  EXPECT_EQ(turns, "0120120");
  EXPECT_FALSE(scheduler->may_stop(0));
  const auto words = scheduler->save();
  scheduler = make();
  ASSERT_TRUE(scheduler->restore(words));
  EXPECT_FALSE(make()->restore({}));
  turn(1);  // the one that waited changes something:
  for (const std::uint64_t changed : {0, 0, 0}) turn(changed);
  EXPECT_EQ(turns, "01201203120");
  turn(0);
  EXPECT_TRUE(scheduler->may_stop(0));
}

// Limits count new matches only, so rules are held back less.
TEST(Scheduler, ResumingBackoffReachesTheSameEnd) {
  const Outcome plain = sum_of_eight("backoff"), resuming = sum_of_eight("backoff-resume");
  for (const Outcome* outcome : {&plain, &resuming}) {
    EXPECT_EQ(outcome->report.stop, StopReason::kSaturated);
    EXPECT_EQ(outcome->classes, 255U);
    EXPECT_GT(outcome->report.rules[1].bans, 0U);
  }
  EXPECT_LE(resuming.report.rules[1].bans, plain.report.rules[1].bans);
}

// Rules in turn, so many matches of each; the others when it is its turn again.
class ResumesInTurn : public Scheduler {
 public:
  explicit ResumesInTurn(std::uint64_t limit) : limit_(limit) {}
  void start(std::size_t rules) override { in_turn_->start(rules); }
  void learn_inverses(std::span<const std::uint32_t> inverse_of) override {
    in_turn_->learn_inverses(inverse_of);
  }
  std::uint64_t match_limit(std::uint64_t iteration, std::size_t rule) override {
    return std::min(limit_, in_turn_->match_limit(iteration, rule));
  }
  bool resumes() const override { return true; }
  bool accept(std::uint64_t iteration, std::size_t rule, bool exceeded) override {
    return in_turn_->accept(iteration, rule, exceeded);
  }
  void applied(std::uint64_t iteration, std::size_t rule, const Yield& yield) override {
    in_turn_->applied(iteration, rule, yield);
  }
  bool may_stop(std::uint64_t iteration) override { return in_turn_->may_stop(iteration); }

 private:
  std::uint64_t limit_;
  std::unique_ptr<Scheduler> in_turn_ = *make_scheduler("in-turn");
};

// The turn stays where it is once all rules are idle, though others have matches left.
TEST(Scheduler, WhatIsLeftIsAppliedWhenRulesInTurnAreIdle) {
  for (const std::uint64_t limit : {1, 10, 100}) {
    SCOPED_TRACE(limit);
    const Outcome outcome = sum_of_eight(std::make_unique<ResumesInTurn>(limit), 20'000);
    EXPECT_EQ(outcome.report.stop, StopReason::kSaturated);
    EXPECT_EQ(outcome.classes, 255U);
  }
}

}  // namespace
}  // namespace egret::egraph

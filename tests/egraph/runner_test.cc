// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/runner.h"

#include <gtest/gtest.h>

#include "egraph/core/smallest_term.h"
#include "egraph/formats/dump.h"
#include "egraph/search/syntax.h"
#include "tests/egraph/distinct.h"
#include "tests/egraph/smallest_size.h"

namespace egret::egraph {
namespace {

constexpr std::string_view kSumRules =
    "commute: (+ ?a ?b) => (+ ?b ?a)\n"
    "associate: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)\n";
constexpr std::string_view kSum = "(+ a (+ b (+ c (+ d (+ e (+ f (+ g h)))))))";

class RunnerTest : public ::testing::Test {
 protected:
  void start(std::string_view rules, std::string_view term, Analysis* analysis = nullptr) {
    egraph_ = std::make_unique<EGraph>(ops_, analysis);
    auto parsed = syntax_.rules(rules);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    rules_ = *std::move(parsed);
    root_ = *syntax_.add_term(*egraph_, term);
  }
  RunReport run(const Limits& limits = {}, std::string_view scheduler = "simple") {
    Runner runner(*egraph_, rules_);
    runner.limits() = limits;
    runner.set_scheduler(*make_scheduler(scheduler));
    RunReport report = runner.run();
    const base::Status status = egraph_->check_invariants();
    EXPECT_TRUE(status.ok()) << status.message();
    return report;
  }
  bool equal(std::string_view a, std::string_view b) {
    return egraph_->same(*syntax_.add_term(*egraph_, a), *syntax_.add_term(*egraph_, b));
  }

  OpTable ops_;
  Syntax syntax_{ops_};
  std::unique_ptr<EGraph> egraph_;
  std::vector<Rewrite> rules_;
  ClassId root_;
};

TEST_F(RunnerTest, SaturatesOnAllOrdersOfASum) {
  start(kSumRules, kSum);
  const RunReport report = run();
  EXPECT_EQ(report.stop, StopReason::kSaturated);
  EXPECT_EQ(egraph_->class_count(), 255U);  // one class for each non-empty subset
  EXPECT_TRUE(equal(kSum, "(+ (+ (+ h a) (+ g b)) (+ (+ f c) (+ e d)))"));
}

TEST_F(RunnerTest, BackoffReachesTheSameEnd) {
  start(kSumRules, kSum);
  Limits limits;
  limits.iterations = 200;
  const RunReport report = run(limits, "backoff");
  EXPECT_EQ(report.stop, StopReason::kSaturated);
  EXPECT_EQ(egraph_->class_count(), 255U);
  EXPECT_GT(report.rules[1].bans, 0U);
}

TEST_F(RunnerTest, StopsAtEachLimitWithAValidEGraph) {
  const auto stop_with = [this](auto set) {
    start(kSumRules, kSum);
    Limits limits;
    set(limits);
    return run(limits).stop;
  };
  EXPECT_EQ(stop_with([](Limits& l) { l.iterations = 2; }), StopReason::kIterationLimit);
  EXPECT_EQ(stop_with([](Limits& l) { l.nodes = 100; }), StopReason::kNodeLimit);
  EXPECT_LE(egraph_->node_count(), 110U);
  EXPECT_EQ(stop_with([](Limits& l) { l.bytes = 20'000; }), StopReason::kByteLimit);
  EXPECT_LE(egraph_->bytes(), 25'000U);
  EXPECT_EQ(stop_with([](Limits& l) { l.matches = 50; }), StopReason::kMatchLimit);
  EXPECT_EQ(stop_with([](Limits& l) { l.ticks = 5'000; }), StopReason::kTickLimit);
  EXPECT_EQ(stop_with([](Limits& l) { l.seconds = 0; }), StopReason::kTimeLimit);
}

TEST_F(RunnerTest, RunsRepeatExactly) {
  std::string dumps[2];
  std::uint64_t ticks[2];
  for (int i = 0; i < 2; ++i) {
    OpTable ops;
    const Syntax syntax(ops);
    EGraph egraph(ops);
    const auto rules = *syntax.rules(kSumRules);
    ASSERT_TRUE(syntax.add_term(egraph, kSum).ok());
    Runner runner(egraph, rules);
    runner.limits().ticks = 20'000;
    ticks[i] = runner.run().ticks;
    dumps[i] = dump(egraph);
  }
  EXPECT_EQ(dumps[0], dumps[1]);
  EXPECT_EQ(ticks[0], ticks[1]);
}

TEST_F(RunnerTest, HooksSeeAndStopARun) {
  start(kSumRules, kSum);
  Runner runner(*egraph_, rules_);
  std::size_t iterations = 0;
  runner.hooks().before_iteration = [&](EGraph& egraph, const RunReport& report) {
    EXPECT_TRUE(egraph.clean());
    EXPECT_EQ(report.iterations.size(), iterations++);
    return iterations < 3;
  };
  std::vector<std::size_t> applied;
  runner.hooks().after_rule = [&](const EGraph&, std::size_t rule) {
    applied.push_back(rule);
    return true;
  };
  EXPECT_EQ(runner.run().stop, StopReason::kHook);
  EXPECT_EQ(applied, (std::vector<std::size_t>{0, 1, 0, 1}));
}

TEST_F(RunnerTest, CountsWhatBecameOfMatches) {
  syntax_.define_condition("is-b", 1, [this](EGraph& egraph, std::span<const ClassId> c) {
    return egraph.same(c[0], *syntax_.add_term(egraph, "b"));
  });
  start("only-b: (f ?x) => (g ?x) if is-b(?x)", "(h (f a) (f b))");
  const RunReport report = run();
  EXPECT_EQ(report.stop, StopReason::kSaturated);
  EXPECT_EQ(report.rules[0].matches, 2U);
  EXPECT_EQ(report.rules[0].applied, 1U);
  EXPECT_EQ(report.rules[0].unchanged, 0U);  // what was applied is not tried again,
  EXPECT_EQ(report.rules[0].rejected, 2U);   // what was rejected is,
  EXPECT_EQ(report.rules[0].retries, 1U);    // in the second iteration
  EXPECT_TRUE(equal("(f b)", "(g b)"));
  EXPECT_FALSE(equal("(f a)", "(g a)"));
}

TEST_F(RunnerTest, RefusedApplicationsLeaveNothingBehind) {
  SmallestSize analysis;
  start("", "(f a)", &analysis);
  Pattern pattern;
  const VarId x = pattern.var("x");
  const VarId fx = pattern.node(ops_.op("f", 1), {x});
  Rewrite rewrite("refused", pattern);
  const VarId ok = rewrite.build(ops_.op("g", 1), {x});
  const VarId bad = rewrite.build(ops_.op("g", 1, SmallestSize::kForbidden), {ok});
  rewrite.equate(fx, bad);
  rules_.push_back(std::move(rewrite));
  const RunReport report = run();
  EXPECT_EQ(report.stop, StopReason::kSaturated);
  EXPECT_EQ(report.rules[0].refused, 1U);
  EXPECT_EQ(report.rules[0].first_refusal, "forbidden operator");
  EXPECT_EQ(egraph_->node_count(), 2U);
}

// Two products that share an input become parts of one: both outputs or none.
TEST_F(RunnerTest, RulesWithSeveralOutputsUniteThemAll) {
  start(
      "merge: (mul ?x ?a), (mul ?x ?b) => (left (mul ?x (cat ?a ?b))), "
      "(right (mul ?x (cat ?a ?b)))",
      "(pair (mul x a) (mul x b))");
  Limits limits;
  limits.iterations = 1;
  run(limits);
  EXPECT_TRUE(equal("(mul x a)", "(left (mul x (cat a b)))"));
  EXPECT_TRUE(equal("(mul x b)", "(right (mul x (cat a b)))"));
  EXPECT_TRUE(equal("(mul x b)", "(left (mul x (cat b a)))"));
}

// egg's prop test: a multi-pattern that asks whether a class is `true`.
TEST_F(RunnerTest, NamedSourcesMatchOneClassTwice) {
  start("lem-imply: ?v = true, ?v = (& (-> ?a ?b) (-> (~ ?a) ?c)) => ?v = (| ?b ?c)",
        "(& (-> x y) (-> (~ x) z))");
  run();
  EXPECT_FALSE(equal("true", "(| y z)"));
  ASSERT_TRUE(egraph_->merge(root_, *syntax_.add_term(*egraph_, "true")).ok());
  run();
  EXPECT_TRUE(equal("true", "(| y z)"));
}

TEST_F(RunnerTest, OperatorsAndClassesMayBeComputed) {
  start("", "a");
  // add{i}(add{j}(x)) = add{i+j}(x), and add{0}(x) = x.
  const BaseId add = ops_.base("add");
  Pattern two;
  const VarId x = two.var("x");
  const OpVarId i = two.op_var("i"), j = two.op_var("j");
  const VarId outer = two.node(add, i, {two.node(add, j, {x})});
  Rewrite sum("sum", two);
  const Rewrite::OpBuilder both = [=](EGraph& egraph, const Match& m) -> base::Result<OpId> {
    OpTable& ops = egraph.ops();
    if (ops.payload(m[i]) + ops.payload(m[j]) > 10) return base::unsupported("too much");
    return ops.op(add, 1, ops.payload(m[i]) + ops.payload(m[j]));
  };
  sum.equate(outer, sum.build(both, {x}));
  Pattern one;
  const VarId y = one.var("y");
  const VarId product = one.node(add, one.op_var("i"), {y});
  Rewrite leaf("note", one);
  const Rewrite::ClassBuilder self = [=](EGraph& egraph, const Match& m) {
    return egraph.add(egraph.ops().op("seen", 1), {m[product]});
  };
  leaf.equate(product, leaf.build(self));
  rules_.push_back(sum);
  rules_.push_back(leaf);

  ClassId id = root_;
  for (const std::uint64_t n : {3, 4, 2, 5}) id = *egraph_->add(ops_.op(add, 1, n), {id});
  Limits limits;
  limits.iterations = 4;
  const RunReport report = run(limits);
  EXPECT_TRUE(egraph_->same(
      *egraph_->add(ops_.op(add, 1, 9), {root_}),
      *egraph_->add(ops_.op(add, 1, 2), {*egraph_->add(ops_.op(add, 1, 7), {root_})})));
  EXPECT_FALSE(egraph_->lookup(ops_.op(add, 1, 14), {root_}).valid());
  EXPECT_EQ(report.rules[0].first_refusal, "too much");
  EXPECT_TRUE(egraph_->same(id, egraph_->lookup(ops_.op("seen", 1), {id})));
}

// A conflict that congruence forces ends the run and is reported.
TEST_F(RunnerTest, UnsoundRulesEndInAConflict) {
  Distinct analysis;
  egraph_ = std::make_unique<EGraph>(ops_, &analysis);
  const ClassId a = *egraph_->add(ops_.op("a", 0)), b = *egraph_->add(ops_.op("b", 0));
  const ClassId fa = *egraph_->add(ops_.op("f", 1), {a});
  const ClassId fb = *egraph_->add(ops_.op("f", 1), {b});
  ASSERT_TRUE(egraph_->merge(fa, *egraph_->add(ops_.op("one", 0, 1))).ok());
  ASSERT_TRUE(egraph_->merge(fb, *egraph_->add(ops_.op("two", 0, 2))).ok());
  rules_ = *syntax_.rules("wrong: a => b");
  Runner runner(*egraph_, rules_);
  const RunReport report = runner.run();
  EXPECT_EQ(report.stop, StopReason::kConflict);
  EXPECT_EQ(report.conflict.message(), "two values");
}

}  // namespace
}  // namespace egret::egraph

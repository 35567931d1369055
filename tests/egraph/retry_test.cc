// SPDX-License-Identifier: Apache-2.0
// Matches whose answer changes after they were found: deltas do not find them again, so the runner
// must try them again by itself, and others not.
#include <gtest/gtest.h>

#include "egraph/search/runner.h"
#include "egraph/search/syntax.h"

namespace egret::egraph {
namespace {

using Reads = Rewrite::Reads;

// A class's data are the payloads of its nodes, joined.
class Payloads : public Analysis {
 public:
  base::Result<Data> make(const EGraph& egraph, OpId op, std::span<const ClassId>) override {
    return egraph.ops().payload(op);
  }
  base::Result<Data> merge(Data a, Data b) override { return a | b; }
};

// (f a), (h a) and (h c). From the second iteration on the class of `a` is told something: "told"
// is in it, whose payload is 1, and (seen a) exists. The class of `a` has most parents, so no node
// of a match of (f a) moves.
class RetryTest : public ::testing::Test {
 protected:
  RetryTest() {
    egraph_ = std::make_unique<EGraph>(ops_, &analysis_);
    for (const char* term : {"(f a)", "(h a)", "(k a)", "(h c)", "(f c)"}) {
      (void)*syntax_.add_term(*egraph_, term);
    }
    a_ = *syntax_.add_term(*egraph_, "a");
  }

  Rewrite first() {
    Pattern pattern;
    x_ = pattern.var("x");
    top_ = pattern.node(ops_.op("f", 1), {x_});
    return Rewrite("first", pattern);
  }
  // Runs the rule, and after it those that change `a`.
  RunReport run(Rewrite rule) {
    rules_ = {std::move(rule)};
    Pattern pattern;  // (h a) => told, for `a` itself
    const VarId a = pattern.node(ops_.op("a", 0));
    pattern.node(ops_.op("h", 1), {a});
    Rewrite tell("tell", pattern);
    tell.equate(a, tell.build(ops_.op("told", 0, 1)));
    rules_.push_back(tell);
    Rewrite see("see", pattern);
    see.build(ops_.op("seen", 1), {a});
    rules_.push_back(see);
    Runner runner(*egraph_, rules_);
    return runner.run();
  }
  bool has(std::string_view term) {
    return egraph_->same(*syntax_.add_term(*egraph_, "(f a)"), *syntax_.add_term(*egraph_, term));
  }

  OpTable ops_;
  Syntax syntax_{ops_};
  Payloads analysis_;
  std::unique_ptr<EGraph> egraph_;
  ClassId a_;
  VarId x_, top_;
  std::vector<Rewrite> rules_;
};

TEST_F(RetryTest, ConditionsOnDataAreAskedAgainWhenItChanges) {
  Rewrite rule = first();
  int asked = 0;
  rule.when([&](EGraph& egraph, const Match& m) { return ++asked, egraph.data(m[x_]) == 1; },
            Reads::kData);
  rule.equate(top_, rule.build(ops_.op("g", 1), {x_}));
  const RunReport report = run(rule);
  EXPECT_EQ(report.stop, StopReason::kSaturated);
  EXPECT_TRUE(has("(g a)"));
  EXPECT_EQ(asked, 3);  // (f a) twice, (f c) once
  EXPECT_EQ(report.rules[0].retries, 1U);
}

TEST_F(RetryTest, ConditionsOnNodesAreAskedAgainWhenTheClassChanges) {
  Rewrite rule = first();
  int asked = 0;
  rule.when(
      [&](EGraph& egraph, const Match& m) {
        ++asked;
        return egraph.nodes(egraph.find(m[x_])).size() == 2;
      },
      Reads::kMatched);
  rule.equate(top_, rule.build(ops_.op("g", 1), {x_}));
  run(rule);
  EXPECT_TRUE(has("(g a)"));
  EXPECT_EQ(asked, 3);
}

TEST_F(RetryTest, ConditionsOnAnythingAreAskedAgainEachTime) {
  Rewrite rule = first();
  rule.when([&](EGraph& egraph, const Match& m) {
    return egraph.lookup(ops_.op("seen", 1), {m[x_]}).valid();
  });
  rule.equate(top_, rule.build(ops_.op("g", 1), {x_}));
  run(rule);
  EXPECT_TRUE(has("(g a)"));
  EXPECT_FALSE(egraph_->lookup(ops_.op("g", 1), {*syntax_.add_term(*egraph_, "c")}).valid());
}

TEST_F(RetryTest, RightSidesMadeFromDataAreMadeAgainWhenItChanges) {
  Rewrite rule = first();
  int made = 0;
  const Rewrite::OpBuilder by_data = [&](EGraph& egraph, const Match& m) -> base::Result<OpId> {
    ++made;
    return egraph.ops().op("g", 1, egraph.data(m[x_]));
  };
  rule.equate(top_, rule.build(by_data, {x_}));
  rule.builders_read(Reads::kData);
  run(rule);
  const ClassId fa = egraph_->lookup(ops_.op("f", 1), {a_});
  EXPECT_EQ(egraph_->lookup(ops_.op("g", 1, 0), {a_}), fa);
  EXPECT_EQ(egraph_->lookup(ops_.op("g", 1, 1), {a_}), fa);
  // (f a) twice for what became of `a`; both once more because of the class of g{..} merged into
  // theirs, if that class's id became another.
  EXPECT_GE(made, 3);
  EXPECT_LE(made, 5);
}

TEST_F(RetryTest, MatchesOfHiddenNodesAreNotTriedAgain) {
  Rewrite rule = first();
  int asked = 0;
  rule.when([&](EGraph&, const Match&) { return ++asked, false; });
  rules_ = {rule};
  Runner runner(*egraph_, rules_);
  runner.run();
  EXPECT_EQ(asked, 2);
  egraph_->hide(egraph_->lookup_node(ops_.op("f", 1), std::vector{a_}));
  runner.run();
  EXPECT_EQ(asked, 3);  // (f c) alone
}

}  // namespace
}  // namespace egret::egraph

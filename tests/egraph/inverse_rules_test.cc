// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/inverse_rules.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "egraph/search/runner.h"
#include "egraph/search/syntax.h"
#include "tests/egraph/distinct.h"
#include "tests/egraph/random_patterns.h"
#include "tests/egraph/slow_matcher.h"

namespace egret::egraph {
namespace {

std::vector<std::uint32_t> inverses(std::string_view text) {
  OpTable ops;
  Syntax syntax(ops);
  syntax.define_condition("small", 1, [](EGraph&, std::span<const ClassId>) { return true; });
  const auto rules = syntax.rules(text);
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return inverse_rules(*rules);
}

using Inverses = std::vector<std::uint32_t>;

TEST(InverseRules, AreThoseThatSayTheSameFromRightToLeft) {
  EXPECT_EQ(inverses("commute: (+ ?a ?b) => (+ ?b ?a)\n"
                     "left: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)\n"
                     "times: (* (* ?x ?y) ?z) => (* ?x (* ?y ?z))\n"
                     "right: (+ (+ ?x ?y) ?z) => (+ ?x (+ ?y ?z))\n"),
            (Inverses{0, 3, 2, 1}));
  // The variables matter,
  EXPECT_EQ(inverses("a: (f ?a (g ?b)) => (h ?a ?b)\n"
                     "b: (h ?b ?a) => (f ?a (g ?b))\n"),
            (Inverses{0, 1}));
  // not how they are called; and constants are terms like others.
  EXPECT_EQ(inverses("a: (f ?a (g ?b)) => (h 1 ?b ?a)\n"
                     "b: (h 1 ?a ?b) => (f ?b (g ?a))\n"),
            (Inverses{1, 0}));
}

TEST(InverseRules, AreLinearTermsWithoutConditionsOnBothSides) {
  const Inverses none = {0, 1};
  EXPECT_EQ(inverses("a: (f ?a ?a) => (g ?a)\nb: (g ?a) => (f ?a ?a)\n"), none);
  EXPECT_EQ(inverses("a: (f ?a 0) => ?a\nb: ?a => (f ?a 0)\n"), none);
  EXPECT_EQ(inverses("a: (f ?a) => (g ?a) if small(?a)\nb: (g ?a) => (f ?a)\n"), none);
  EXPECT_EQ(inverses("a: (f ?a ?b) => (g ?a)\nb: (g ?a) => (f ?a 1)\n"), none);
  EXPECT_EQ(inverses("a: ?x = (f ?a), ?x = (g ?a) => (h ?a)\nb: (h ?a) => (f ?a)\n"), none);
}

// A linear term of the language: random shape, each variable once.
VarId linear_term(const SmallLanguage& language, base::Random& random, Pattern& pattern,
                  std::size_t depth) {
  const OpId op = language.all[random.below(language.all.size())];
  std::vector<VarId> children;
  for (std::size_t i = 0; i < language.ops.arity(op); ++i) {
    const bool leaf = depth == 0 || random.chance(0.4);
    children.push_back(leaf ? pattern.var() : linear_term(language, random, pattern, depth - 1));
  }
  return pattern.node(op, children);
}

TEST(InverseRules, MatchesAreCountedWithoutFindingThem) {
  std::size_t counted = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    base::Random random(seed);
    SmallLanguage language;
    EGraph egraph(language.ops);
    grow_egraph(egraph, language, random, 20);
    Pattern pattern;
    linear_term(language, random, pattern, 2);
    const std::size_t expected = SlowMatcher(egraph, pattern).run().size();
    EXPECT_EQ(count_matches(egraph, pattern), expected) << "seed " << seed;
    counted += expected;
  }
  EXPECT_GT(counted, 400U);
}

TEST(InverseRules, CountsThatDoNotFitAreNone) {
  OpTable ops;
  const Syntax syntax(ops);
  EGraph egraph(ops);
  // A class of 2^n terms of n operators for each n: squared again and again.
  ClassId id = *egraph.add(ops.op("a", 0));
  ASSERT_TRUE(egraph.merge(id, *egraph.add(ops.op("+", 2), {id, id})).ok());
  ASSERT_TRUE(egraph.merge(id, *egraph.add(ops.op("-", 2), {id, id})).ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  std::string term = "(+ ?a ?b)";
  Pattern pattern;
  const OpId plus = ops.op("+", 2);
  VarId top = pattern.node(plus, {pattern.var(), pattern.var()});
  for (int i = 0; i < 70; ++i) top = pattern.node(plus, {top, pattern.var()});
  EXPECT_EQ(count_matches(egraph, pattern), 1U);  // + has one node
  for (const char* const name : {"b", "c", "d"}) {
    const ClassId other = *egraph.add(ops.op(name, 0));
    ASSERT_TRUE(egraph.merge(id, *egraph.add(plus, {id, other})).ok());
  }
  ASSERT_TRUE(egraph.rebuild().ok());
  EXPECT_EQ(count_matches(egraph, pattern), std::nullopt);  // 4^71
}

RunReport run(EGraph& egraph, std::span<const Rewrite> rules, std::string_view scheduler) {
  Runner runner(egraph, rules);
  runner.set_scheduler(*make_scheduler(scheduler));
  runner.limits().nodes = 600;
  runner.limits().iterations = 60;
  return runner.run();
}

// Random rules and their inverses, also with nodes that are hidden: where a run ends saturated, one
// that knows nothing of inverses finds nothing more.
TEST(InverseRules, SaturationIsNeverCalledTooEarly) {
  std::size_t saturated = 0, spared = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    base::Random random(seed);
    SmallLanguage language;
    std::vector<Rewrite> rules;
    for (int i = 0; i < 2; ++i) {
      Pattern left, right;
      const VarId a = left.var(), b = left.var();
      const VarId x = right.var(), y = right.var();
      const OpId f = language.all[2 + random.below(4)], g = language.all[2 + random.below(4)];
      const auto side = [&](Pattern& pattern, OpId op, VarId first, VarId second) {
        if (language.ops.arity(op) == 2) return pattern.node(op, {first, second});
        return pattern.node(op, {pattern.node(language.all[4], {first, second})});
      };
      const auto build = [&](Rewrite& rule, OpId op, VarId first, VarId second) {
        if (language.ops.arity(op) == 2) return rule.build(op, {first, second});
        return rule.build(op, {rule.build(language.all[4], {first, second})});
      };
      const VarId top = side(left, f, a, b), back = side(right, g, x, y);
      Rewrite forth("forth", std::move(left)), reverse("back", std::move(right));
      forth.equate(top, build(forth, g, b, a));
      reverse.equate(back, build(reverse, f, y, x));
      rules.push_back(std::move(forth));
      rules.push_back(std::move(reverse));
    }
    EGraph egraph(language.ops);
    grow_egraph(egraph, language, random, 8);
    const std::string_view scheduler = random.chance(0.7) ? "in-turn" : "backoff";
    const RunReport report = run(egraph, rules, scheduler);
    if (report.stop != StopReason::kSaturated) continue;
    ++saturated;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const bool found = report.rules[i].matches > 0;
      spared += !found && *count_matches(egraph, rules[i].pattern()) > 0 ? 1 : 0;
    }
    const RunReport again = run(egraph, rules, "simple");
    EXPECT_EQ(again.stop, StopReason::kSaturated);
    EXPECT_EQ(again.iterations.size(), 1U) << "seed " << seed;
  }
  EXPECT_GT(saturated, 200U);
  EXPECT_GT(spared, 100U);
}

TEST(InverseRules, RefusedMatchesShowNothing) {
  OpTable ops;
  const Syntax syntax(ops);
  Distinct analysis;
  EGraph egraph(ops, &analysis);
  // One match of each rule; what the first says of its own is refused.
  const ClassId left = *syntax.add_term(egraph, "(f a b)");
  const ClassId right = *syntax.add_term(egraph, "(g b a)");
  ASSERT_TRUE(egraph.merge(left, *egraph.add(ops.op("one", 0, 1))).ok());
  ASSERT_TRUE(egraph.merge(right, *egraph.add(ops.op("two", 0, 2))).ok());
  const auto rules = *syntax.rules("a: (f ?a ?b) => (g ?b ?a)\nb: (g ?a ?b) => (f ?b ?a)\n");
  EXPECT_EQ(inverse_rules(rules), (Inverses{1, 0}));
  const RunReport report = run(egraph, rules, "in-turn");
  EXPECT_EQ(report.stop, StopReason::kSaturated);
  EXPECT_EQ(report.rules[0].refused, 1U);
  EXPECT_EQ(report.rules[1].refused, 1U);  // it was asked
}

}  // namespace
}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/matcher.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "egraph/formats/dump.h"
#include "egraph/search/syntax.h"
#include "tests/egraph/random_patterns.h"
#include "tests/egraph/slow_matcher.h"

namespace egret::egraph {
namespace {

std::multiset<SlowMatcher::Row> rows_of(const MatchBuffer& buffer) {
  std::multiset<SlowMatcher::Row> rows;
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    const Match match = buffer[i];
    rows.insert({{match.classes().begin(), match.classes().end()},
                 {match.ops().begin(), match.ops().end()}});
  }
  return rows;
}

std::multiset<SlowMatcher::Row> search(const EGraph& egraph, const Pattern& pattern) {
  Matcher matcher(pattern, egraph.ops());
  MatchBuffer buffer = matcher.make_buffer();
  Budget budget{Limits{}};
  EXPECT_EQ(matcher.search(egraph, Limits::kNone, budget, buffer), SearchEnd::kComplete);
  return rows_of(buffer);
}

TEST(Matcher, AgreesWithTheSlowMatcherOnRandomPatterns) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    base::Random random(seed);
    SmallLanguage language;
    EGraph egraph(language.ops);
    grow_egraph(egraph, language, random, 3 + random.below(10));
    for (int i = 0; i < 10; ++i) {
      const Pattern pattern = random_pattern(language, random);
      ASSERT_EQ(search(egraph, pattern), SlowMatcher(egraph, pattern).run())
          << "seed " << seed << ", pattern " << describe(pattern, language.ops) << "\n"
          << dump(egraph);
    }
  }
}

// All terms of depth at most two over two variables and a constant.
std::vector<std::string> small_terms() {
  std::vector<std::string> shallow = {"?x", "?y", "a"};
  const auto wrap = [](const std::vector<std::string>& inner) {
    std::vector<std::string> result = inner;
    for (const std::string& s : inner) {
      result.push_back("(f " + s + ")");
      for (const std::string& t : inner) result.push_back("(g " + s + " " + t + ")");
    }
    return result;
  };
  return wrap(wrap(shallow));
}

TEST(Matcher, AgreesWithTheSlowMatcherOnAllSmallTerms) {
  const std::vector<std::string> terms = small_terms();
  EXPECT_EQ(terms.size(), 255U);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    base::Random random(seed);
    SmallLanguage language;
    const Syntax syntax(language.ops);
    EGraph egraph(language.ops);
    grow_egraph(egraph, language, random, 4 + seed);
    for (const std::string& term : terms) {
      const Pattern pattern = *syntax.pattern(term);
      ASSERT_EQ(search(egraph, pattern), SlowMatcher(egraph, pattern).run())
          << "seed " << seed << ", " << term << "\n"
          << dump(egraph);
    }
  }
}

TEST(Matcher, AsksPredicatesOncePerOperator) {
  OpTable ops;
  EGraph egraph(ops);
  const ClassId x = *egraph.add(ops.op("x", 0));
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(egraph.add(ops.op("f", 1, i), {x}).ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  Pattern pattern;
  const OpVarId f = pattern.op_var("f");
  pattern.node(ops.find_base("f"), f, {pattern.var("x")});
  int asked = 0;
  pattern.require(f, [&](OpId op) {
    ++asked;
    return ops.payload(op) >= 3;
  });
  Matcher matcher(pattern, ops);
  MatchBuffer buffer = matcher.make_buffer();
  Budget budget{Limits{}};
  for (int i = 0; i < 3; ++i) matcher.search(egraph, Limits::kNone, budget, buffer);
  EXPECT_EQ(asked, 5);
  EXPECT_EQ(buffer.size(), 6U);
  ASSERT_TRUE(egraph.add(ops.op("f", 1, 7), {x}).ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  buffer.clear();
  matcher.search(egraph, Limits::kNone, budget, buffer);
  EXPECT_EQ(asked, 6);
  EXPECT_EQ(buffer.size(), 3U);
}

TEST(Matcher, StopsAtTheMatchLimit) {
  OpTable ops;
  EGraph egraph(ops);
  for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(egraph.add(ops.op("c", 0, i)).ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  Pattern everything;
  everything.var("x");
  Matcher matcher(everything, ops);
  MatchBuffer buffer = matcher.make_buffer();
  Budget budget{Limits{}};
  EXPECT_EQ(matcher.search(egraph, 4, budget, buffer), SearchEnd::kCapped);
  EXPECT_EQ(buffer.size(), 5U);
  buffer.clear();
  EXPECT_EQ(matcher.search(egraph, 10, budget, buffer), SearchEnd::kComplete);
  EXPECT_EQ(buffer.size(), 10U);
}

// Two sources that share ?x in an e-graph where the product would be 10^8 pairs.
TEST(Matcher, JoinsSourcesOnTheirSharedVariable) {
  OpTable ops;
  EGraph egraph(ops);
  const OpId mul = ops.op("mul", 2);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const ClassId x = *egraph.add(ops.op("x", 0, i));
    for (std::uint64_t w = 0; w < 2; ++w) {
      ASSERT_TRUE(egraph.add(mul, {x, *egraph.add(ops.op("w", 0, 2 * i + w))}).ok());
    }
  }
  ASSERT_TRUE(egraph.rebuild().ok());
  Pattern pattern;
  const VarId x = pattern.var("x");
  pattern.node(mul, {x, pattern.var("a")});
  pattern.node(mul, {x, pattern.var("b")});
  Matcher matcher(pattern, ops);
  MatchBuffer buffer = matcher.make_buffer();
  Budget budget{Limits{}};
  matcher.search(egraph, Limits::kNone, budget, buffer);
  EXPECT_EQ(buffer.size(), 5000U * 4);
  EXPECT_LT(budget.ticks(), 100'000U);
}

}  // namespace
}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/rule_set.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rules/language/rule_parser.h"
#include "tests/paths.h"

namespace egret::rules {
namespace {

bool has(const RuleSet& set, std::string_view name) {
  return std::ranges::find(set.rules, name, &Rule::name) != set.rules.end();
}

TEST(RuleSet, TheRulesThatComeWithEgretParseAndPrintBack) {
  const auto rules = builtin_rules();
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  EXPECT_GE(rules->size(), 200U);
  for (const Rule& rule : *rules) {
    const auto again = parse_rules(rule.name, to_string(rule));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(to_string((*again)[0]), to_string(rule));
    EXPECT_EQ(content_hash((*again)[0]), content_hash(rule)) << to_string(rule);
  }
}

TEST(RuleSet, NoTwoRulesSayTheSame) {
  const auto rules = builtin_rules();
  ASSERT_TRUE(rules.ok());
  // What is written by hand may be generated too, with another heuristic.
  std::map<std::pair<bool, base::ContentHash>, std::string> seen;
  for (const Rule& rule : *rules) {
    const auto [found, is_new] =
        seen.emplace(std::pair(rule.has_tag("generated"), content_hash(rule)), rule.name);
    EXPECT_TRUE(is_new) << rule.name << " is " << found->second;
  }
}

TEST(RuleSet, SelectionsCompose) {
  const auto all = select_rules("all");
  const auto starter = select_rules("starter");
  const auto without = select_rules("default,-merge*");
  const auto implied = select_rules("-merge*");
  const auto only = select_rules("starter,+merge");
  ASSERT_TRUE(all.ok() && starter.ok() && without.ok() && implied.ok() && only.ok());
  EXPECT_GT(all->size(), starter->size());
  EXPECT_TRUE(has(*starter, "merge-convs-sharing-input"));
  // What is generated stands for what was written by hand.
  EXPECT_TRUE(has(*starter, "conv-relu"));
  EXPECT_FALSE(has(*without, "conv-relu"));
  EXPECT_FALSE(has(*without, "merge-convs-sharing-input"));
  EXPECT_EQ(without->hash(), implied->hash());
  EXPECT_NE(without->hash(), starter->hash());
  EXPECT_TRUE(has(*only, "merge-convs-sharing-input"));
  EXPECT_FALSE(has(*only, "drop-identity"));
  EXPECT_TRUE(only->dynamic.empty());
  const auto wrong = select_rules("starter,-merge-convolutions");
  EXPECT_FALSE(wrong.ok());
  EXPECT_EQ(select_rules("strater").status().message(),
            "no rule, tag or file matches 'strater'; did you mean \"starter\"?");
  const auto file = select_rules(std::string(EGRET_SOURCE_DIR) + "/rules/data/pad.rules");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(has(*file, "pad-of-pad"));
}

TEST(RuleSet, GlobsMatchWholeNames) {
  EXPECT_TRUE(matches_glob("merge*", "merge-matmuls"));
  EXPECT_TRUE(matches_glob("*conv*", "merge-convs"));
  EXPECT_TRUE(matches_glob("a?c", "abc"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_FALSE(matches_glob("merge", "merge-matmuls"));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
  EXPECT_TRUE(matches_glob("*a*b", "xaybab"));
}

}  // namespace
}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/rule_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/system/file.h"
#include "rules/language/rule_names.h"
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
            "no rule, tag or file matches 'strater' (`egret rules list` lists rules and files); "
            "did you mean \"starter\"?");
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

std::vector<Rule> rules_of(const std::string& file, const std::string& text) {
  auto parsed = parse_rules(file, text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return *std::move(parsed);
}

std::vector<std::string> names_of(const std::vector<Rule>& rules) {
  std::vector<std::string> names;
  for (const Rule& rule : rules) names.push_back(rule.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(RuleNames, ARuleThatTwoFilesHaveIsAddedOnce) {
  std::vector<Rule> all = rules_of("a.rules", "rule once relu(relu(?x)) => relu(?x)");
  const auto notes = add_rules(
      all, rules_of("b.rules", "rule once \"idempotent\" relu(relu(?y)) => relu(?y)"), "");
  EXPECT_EQ(names_of(all), Names({"once"}));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "rule once of b.rules:1 is that of a.rules:1");
}

TEST(RuleNames, ADifferentRuleOfTheSameNameGetsItsFilesName) {
  std::vector<Rule> all = rules_of("a.rules", "rule once relu(relu(?x)) => relu(?x)");
  const std::vector<Rule> other = rules_of("found/b.rules", "rule once abs(abs(?x)) => abs(?x)");
  EXPECT_EQ(add_rules(all, other, "").size(), 1U);
  EXPECT_EQ(names_of(all), Names({"once", "b/once"}));
  // What was renamed is known again.
  add_rules(all, other, "");
  EXPECT_EQ(names_of(all), Names({"once", "b/once"}));
  add_rules(all, rules_of("b.rules", "rule once neg(neg(?x)) => ?x"), "/home/lab/b.rules");
  add_rules(all, rules_of("b.rules", "rule once exp(log(?x)) => ?x"), "");
  EXPECT_EQ(names_of(all), Names({"once", "b/once", "lab/b/once", "b-2/once"}));
  for (const Rule& rule : all) {
    const auto again = parse_rules("again.rules", to_string(rule));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ((*again)[0].name, rule.name);
    EXPECT_EQ(content_hash((*again)[0]), content_hash(rule));
  }
}

TEST(RuleNames, AnotherHeuristicMakesAnotherRule) {
  const char* always = "rule once neg(neg(?x)) => ?x";
  const char* rarely = "rule once neg(neg(?x)) heuristic constant(?x) => ?x";
  std::vector<Rule> all = rules_of("a.rules", always);
  add_rules(all, rules_of("b.rules", rarely), "");
  EXPECT_EQ(names_of(all), Names({"once", "b/once"}));
  EXPECT_EQ(content_hash(all[0]), content_hash(all[1]));
  EXPECT_FALSE(is_same_rule(all[0], all[1]));
}

TEST(RuleNames, BothDirectionsGetOnePrefix) {
  std::vector<Rule> all = rules_of("a.rules", "rule move-reversed relu(relu(?x)) => relu(?x)");
  add_rules(
      all,
      rules_of("my rules v1.rules",
               "rule other abs(abs(?x)) => abs(?x)\nrule move neg(abs(?x)) <=> neg(relu(?x))"),
      "");
  EXPECT_EQ(names_of(all),
            Names({"move-reversed", "other", "my_rules_v1/move", "my_rules_v1/move-reversed"}));
}

TEST(RuleNames, RulesOfOneMeaningWithTwoNamesAreBothKept) {
  std::vector<Rule> all;
  add_rules(all, rules_of("a.rules", "rule a abs(?x) => relu(?x)\nrule b abs(?x) => relu(?x)"), "");
  EXPECT_EQ(names_of(all), Names({"a", "b"}));
}

class RuleFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "egret-rule-names-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_ + "/found");
    write("found/a.rules",
          "rule relu-of-relu abs(abs(?x)) => abs(?x)\nrule mine neg(neg(?x)) => ?x");
    write("found/b.rules", "rule mine relu(neg(neg(?x))) => relu(?x)");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& file, const std::string& text) {
    ASSERT_TRUE(base::write_file(folder_ + "/" + file, text).ok());
  }
  std::string folder_;
};

TEST_F(RuleFolders, JoinTheDefaultSetWhateverTheirNames) {
  const auto builtin = builtin_rules();
  ASSERT_TRUE(builtin.ok());
  // A name that is taken by a rule of the default set.
  const auto defaults = select_rules("default");
  ASSERT_TRUE(defaults.ok());
  const std::string taken = defaults->rules.front().name;
  write("found/c.rules", "rule " + taken + " sigmoid(neg(neg(?x))) => sigmoid(?x)");
  for (const std::string& path : {folder_ + "/found", folder_ + "/found/"}) {
    const auto set = select_rules("default," + path);
    ASSERT_TRUE(set.ok()) << set.status().message();
    EXPECT_EQ(set->rules.size(), defaults->rules.size() + 4) << path;
    EXPECT_TRUE(has(*set, "found/" + taken));
    EXPECT_TRUE(has(*set, "b/mine"));
    EXPECT_EQ(set->notes.size(), 1U);
    // Either name takes a rule away.
    const auto less = select_rules("default," + path + ",-found/" + taken);
    ASSERT_TRUE(less.ok());
    EXPECT_EQ(less->rules.size(), set->rules.size() - 1);
    EXPECT_TRUE(has(*less, taken));
    const auto least = select_rules("default," + path + ",-" + taken);
    ASSERT_TRUE(least.ok());
    EXPECT_EQ(least->rules.size(), set->rules.size() - 2);
  }
}

// `rounding` is a statement about a rule. A file of that name makes none.
TEST_F(RuleFolders, NamesOfFilesHaveNoMeaning) {
  write("rounding.rules", "rule mine neg(neg(?x)) => ?x");
  const auto plain = load_rules(folder_ + "/found/a.rules");
  const auto named = load_rules(folder_ + "/rounding.rules");
  ASSERT_TRUE(plain.ok() && named.ok());
  EXPECT_EQ(content_hash((*named)[0]), content_hash((*plain)[1]));
}

}  // namespace
}  // namespace egret::rules

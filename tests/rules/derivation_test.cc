// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/derivation.h"

#include <gtest/gtest.h>

#include "rules/generator/minimization.h"
#include "rules/language/rule_parser.h"

namespace egret::rules {
namespace {

std::vector<Rule> parsed(std::string_view text) {
  auto rules = parse_rules("test.rules", text);
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return *rules;
}

constexpr std::string_view kSums =
    "rule exchange add(?a, ?b) => add(?b, ?a)\n"
    "rule regroup add(add(?a, ?b), ?c) <=> add(?a, add(?b, ?c))\n";

Derivation derivation_of(std::string_view set, std::string_view goal,
                         DerivationMode mode = DerivationMode::kBothSides) {
  KnownOperators known;
  DerivationOptions options;
  options.mode = mode;
  return derive({parsed(set), {}}, parsed(goal).front(), options, known);
}

TEST(Derivation, DerivesWhatFollows) {
  constexpr std::string_view goal = "rule turn add(?a, add(?b, ?c)) => add(?c, add(?b, ?a))";
  EXPECT_TRUE(derivation_of(kSums, goal).derived);
  EXPECT_TRUE(derivation_of(kSums, goal, DerivationMode::kLeftSide).derived);
}

TEST(Derivation, DoesNotDeriveWhatDoesNotFollow) {
  const Derivation derivation =
      derivation_of(kSums, "rule other add(?a, ?b) where same_type(?a, ?b) => add(?a, ?a)");
  EXPECT_FALSE(derivation.derived);
  EXPECT_NE(derivation.reason.find("stay apart"), std::string::npos) << derivation.reason;
}

TEST(Derivation, WorksOnTheRightSideOnlyWhenAskedTo) {
  // The set cannot make what the right side has; it can take it away there.
  constexpr std::string_view set = "rule drop relu(relu(?x)) => relu(?x)";
  constexpr std::string_view goal = "rule grow relu(?x) => relu(relu(?x))";
  EXPECT_TRUE(derivation_of(set, goal).derived);
  EXPECT_FALSE(derivation_of(set, goal, DerivationMode::kLeftSide).derived);
}

TEST(Derivation, DoesAsAnOptimizerWhenAskedTo) {
  constexpr std::string_view set =
      "rule one add(add(?x, ?a), ?b) heuristic constant(?a) and constant(?b) => add(?x, add(?a, "
      "?b))";
  constexpr std::string_view anything = "rule any add(add(?x, ?a), ?b) => add(?x, add(?a, ?b))";
  constexpr std::string_view of_weights =
      "rule weights add(add(?x, ?a), ?b) heuristic constant(?a) and constant(?b) "
      "=> add(?x, add(?a, ?b))";
  EXPECT_FALSE(derivation_of(set, anything, DerivationMode::kOptimizer).derived);
  EXPECT_TRUE(derivation_of(set, of_weights, DerivationMode::kOptimizer).derived);
}

TEST(Derivation, UsesTheConditionOfTheGoal) {
  constexpr std::string_view set = "rule one mul(?x, 1) => ?x";
  EXPECT_TRUE(
      derivation_of(set, "rule ones mul(?x, ?c) where splat(?c, 1) and same_type(out, ?x) => ?x")
          .derived);
  EXPECT_FALSE(
      derivation_of(set, "rule any mul(?x, ?c) where same_type(out, ?x) and is_splat(?c) => ?x")
          .derived);
}

TEST(Derivation, IsTriedWhereAttributesDiffer) {
  constexpr std::string_view of_one_start =
      "rule one slice{axis=?a, size=?n, start=?s, step=1}(slice{axis=?b, size=?m, start=?s, "
      "step=1}(?x)) => slice{axis=?b, size=?m, start=?s, step=1}(slice{axis=?a, size=?n, start=?s, "
      "step=1}(?x))";
  constexpr std::string_view of_any =
      "rule any slice{axis=?a, size=?n, start=?s, step=1}(slice{axis=?b, size=?m, start=?t, "
      "step=1}(?x)) => slice{axis=?b, size=?m, start=?t, step=1}(slice{axis=?a, size=?n, start=?s, "
      "step=1}(?x))";
  EXPECT_FALSE(derivation_of(of_one_start, of_any).derived);
  EXPECT_TRUE(derivation_of(of_any, of_one_start).derived);
}

TEST(Derivation, DoesNotAskHeuristics) {
  constexpr std::string_view set =
      "rule exchange add(?a, ?b) heuristic constant(?a) => add(?b, ?a)";
  KnownOperators known;
  const RuleSet stripped = without_heuristics({parsed(set), {}});
  EXPECT_TRUE(
      derive(stripped, parsed("rule goal add(?x, ?y) => add(?y, ?x)").front(), {}, known).derived);
}

TEST(Minimization, LeavesOutWhatTheOthersDerive) {
  const std::vector<Rule> rules = parsed(std::string(kSums) +
                                         "rule turn add(?a, add(?b, ?c)) => add(?c, add(?b, ?a))\n"
                                         "rule drop relu(relu(?x)) => relu(?x)\n");
  KnownOperators known;
  const std::vector<bool> kept = minimize(rules, {}, {}, known);
  EXPECT_EQ(kept, (std::vector<bool>{true, true, true, false, true}));
}

TEST(Minimization, KeepsBothDirectionsOfARuleOrNone) {
  const std::vector<Rule> rules = parsed(
      "rule a relu(relu(?x)) <=> relu(?x)\n"
      "rule b relu(relu(relu(?x))) <=> relu(?x)\n");
  KnownOperators known;
  EXPECT_EQ(minimize(rules, {}, {}, known), (std::vector<bool>{true, true, false, false}));
}

// Two rules that derive each other, with commutativity.
constexpr std::string_view kEither =
    "rule exchange add(?a, ?b) => add(?b, ?a)\n"
    "rule left relu(add(?a, relu(?b))) => add(?a, relu(?b)) where rank(?a) == 0\n"
    "rule right relu(add(relu(?b), ?a)) => add(relu(?b), ?a) where rank(?a) == 0\n";

std::vector<std::string> kept_by(std::string_view score, RuleUses uses = {}) {
  const std::vector<Rule> rules = parsed(kEither);
  KnownOperators known;
  MinimizationOptions options;
  options.score = score;
  options.uses = std::move(uses);
  const std::vector<bool> kept = minimize(rules, {}, options, known);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) names.push_back(rules[i].name);
  }
  return names;
}

TEST(Minimization, KeepsOfTwoTheOneThatModelsUse) {
  EXPECT_EQ(kept_by("usefulness", {{"left", 3}}), (std::vector<std::string>{"exchange", "left"}));
  EXPECT_EQ(kept_by("usefulness", {{"right", 3}}), (std::vector<std::string>{"exchange", "right"}));
}

TEST(Minimization, GoesByAScoreOfOnesOwn) {
  const auto prefers = [](std::string name) {
    return [name](const Rule& rule, const RuleUses&) { return rule.name == name ? 0.0 : 1.0; };
  };
  register_rule_score({"left-first", "for this test", prefers("left")});
  register_rule_score({"right-first", "for this test", prefers("right")});
  ASSERT_NE(find_rule_score("left-first"), nullptr);
  EXPECT_EQ(kept_by("left-first"), (std::vector<std::string>{"exchange", "left"}));
  EXPECT_EQ(kept_by("right-first"), (std::vector<std::string>{"exchange", "right"}));
}

TEST(RuleUses, AreSummedOverModels) {
  const auto uses = parse_rule_uses("rule,model,count\na,bert,3\nb,bert,1\na,nasnet,4\n");
  ASSERT_TRUE(uses.ok()) << uses.status().message();
  EXPECT_EQ(*uses, (RuleUses{{"a", 7}, {"b", 1}}));
  EXPECT_FALSE(parse_rule_uses("rule,model,count\na,bert\n").ok());
  EXPECT_FALSE(parse_rule_uses("rule,model,count\na,bert,many\n").ok());
}

}  // namespace
}  // namespace egret::rules

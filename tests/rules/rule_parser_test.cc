// SPDX-License-Identifier: Apache-2.0
#include "rules/language/rule_parser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "ir/graph/builder.h"
#include "rules/tensors/compile.h"

namespace egret::rules {
namespace {

constexpr std::string_view kMerge = R"(
rule merge-matmuls "two products of one matrix are slices of one product" [merge]
  p = matmul(?x, ?a)
  q = matmul(?x, ?b)
  where rank(?a) == 2 and rank(?b) == 2
  heuristic constant(?a) and constant(?b) and before(p, q)
  let m = matmul(?x, ?a)
  => p = transpose{perm=[for i < rank(p): i]}(m)
     q = matmul(?x, ?b)
)";

std::vector<Rule> parsed(std::string_view text) {
  auto rules = parse_rules("test.rules", text);
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return rules.ok() ? *rules : std::vector<Rule>{};
}

TEST(RuleParser, ReadsEveryPartOfARule) {
  const auto rules = parsed(kMerge);
  ASSERT_EQ(rules.size(), 1U);
  const Rule& rule = rules[0];
  EXPECT_EQ(rule.name, "merge-matmuls");
  EXPECT_TRUE(rule.has_tag("merge"));
  EXPECT_EQ(rule.sources.size(), 2U);
  EXPECT_EQ(rule.targets.size(), 2U);
  EXPECT_EQ(rule.lets.size(), 1U);
  EXPECT_EQ(rule.conditions.size(), 1U);
  EXPECT_EQ(rule.heuristics.size(), 1U);
  EXPECT_TRUE(rule.is_multi_pattern());
}

TEST(RuleParser, PrintsWhatItReadsBackAsTheSame) {
  const auto once = parsed(kMerge);
  const std::string text = to_string(once[0]);
  const auto again = parsed(text);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(to_string(again[0]), text);
  EXPECT_EQ(content_hash(again[0]), content_hash(once[0]));
}

TEST(RuleParser, HashesTheMeaningAlone) {
  const auto a = parsed("rule a  relu(relu(?x)) => relu(?x)");
  const auto b = parsed("rule b \"doc\" [tag] relu(relu(?y)) heuristic rank(?y) > 1 => relu(?y)");
  const auto c = parsed("rule c  relu(relu(?x)) where rank(?x) > 1 => relu(?x)");
  EXPECT_EQ(content_hash(a[0]), content_hash(b[0]));
  EXPECT_NE(content_hash(a[0]), content_hash(c[0]));
}

TEST(RuleParser, TurnsAnEquivalenceIntoTwoRules) {
  const auto rules = parsed("rule both  relu(transpose{*t}(?x)) <=> transpose{*t}(relu(?x))");
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[1].name, "both-reversed");
  EXPECT_EQ(
      to_string(rules[1]),
      "rule both-reversed\n  out = transpose{*t}(relu(?x))\n  => out = relu(transpose{*t}(?x))\n");
}

TEST(RuleParser, KeepsTheShapeOfExpressions) {
  const auto rules = parsed(
      "rule e  transpose{perm=?p}(?x) where (1 + 2) * 3 - -?p[0] == 4 / (2 / 1) or not "
      "(rank(?x) < 2 and 1 == 1) => transpose{perm=[for i < rank(?x): ?p[i] + 0]}(?x)");
  ASSERT_EQ(rules.size(), 1U);
  const std::string text = to_string(rules[0], rules[0].conditions[0]);
  EXPECT_EQ(text, "(1 + 2) * 3 - -?p[0] == 4 / (2 / 1) or not (rank(?x) < 2 and 1 == 1)");
  EXPECT_EQ(to_string(parsed(to_string(rules[0]))[0]), to_string(rules[0]));
}

struct Wrong {
  std::string_view text;
  std::string_view message;  // the first line and the caret's line must be these
  int column;
};

TEST(RuleParser, PointsAtErrors) {
  const Wrong kCases[] = {
      {"rule a matmull(?x, ?y) => ?x",
       "unknown operator 'matmull' (`egret ops` lists them); did you mean \"matmul\"?", 8},
      {"rule a relu(?x) => relu(?y)", "nothing binds ?y; did you mean \"?x\"?", 25},
      {"rule a relu(?x, ?y) => ?x", "relu: takes 1 inputs, not 2", 8},
      {"rule a transpose(?x) => ?x",
       "operator 'transpose' needs its attribute 'perm'; write {*} if any value is allowed", 8},
      {"rule a transpose{prm=?p}(?x) => ?x",
       "operator 'transpose' has no attribute 'prm'; known are perm; did you mean \"perm\"?", 18},
      {"rule a relu(?x) where rnk(?x) == 1 => ?x",
       "unknown function 'rnk' (`egret help rules` lists them); did you mean \"rank\"?", 23},
      {"rule a relu(?x) => transpose{*c}(?x)", "no source captures attributes as *c", 31},
      {"rule a conv{*c}(?x, ?w) where c.stride == [1] => conv{*c}(?x, ?w)",
       "no operator captured as *c has an attribute 'stride'; did you mean \"strides\"?", 33},
      {"rule a relu(?x) where positive(?x) or rank(?x) == 2 => ?x",
       "positive() must be a condition of its own or joined by 'and'", 23},
      {"rule a p = relu(?x) where nonnegative(p) => ?x",
       "nonnegative() applies to variables alone, not to named terms", 27},
      {"rule a transpose{perm=?n*2}(?x) => ?x",
       "no source binds the attribute ?n; it must occur alone or in a list", 23},
      {"rule a relu(?x)", "rule 'a' has no '=>'", 6},
      {"rule a relu(?x) => ?x rule a relu(?x) => ?x", "duplicate rule 'a'", 28},
      {"rule a relu(?x => ?x", "expected ')' here", 16},
      {"rule a relu(?x) => ?x & 1", "unexpected character '&'", 23},
      {"rule a mul(?x, 0) => out = 0", "a number alone has no shape; use it beside a tensor", 28},
      {"rule a relu(?x) let y = -1 => ?x", "a number alone has no shape; use it beside a tensor",
       25},
      {"rule a relu(?x) <=> ?x", "'<=>' needs an operator on its right side", 21},
      {"rule a add(?x, ?y) <=> relu(?x)", "'<=>' needs ?y on both sides", 16},
      {"rule a p = relu(?x) q = relu(?y) => r = ?x",
       "unknown source 'r'; with several sources, each target must name its source", 37},
  };
  for (const Wrong& wrong : kCases) {
    const auto rules = parse_rules("f.rules", wrong.text);
    ASSERT_FALSE(rules.ok()) << wrong.text;
    EXPECT_EQ(rules.status().message(),
              "f.rules:1:" + std::to_string(wrong.column) + ": " + std::string(wrong.message) +
                  "\n" + std::string(wrong.text) + "\n" +
                  std::string(static_cast<std::size_t>(wrong.column - 1), ' ') + "^");
  }
}

TEST(RuleParser, RefusesDeepNesting) {
  std::string text = "rule a ";
  for (int i = 0; i < 10000; ++i) text += "relu(";
  EXPECT_FALSE(parse_rules("f", text).ok());
  std::string condition = "rule a relu(?x) where ";
  for (int i = 0; i < 10000; ++i) condition += "(";
  EXPECT_FALSE(parse_rules("f", condition).ok());
}

TEST(Compile, MatchesBindsAndBuilds) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {ir::DType::kF32, {2, 3, 5}});
  const ir::Value y = b.add("transpose", {x}, {{"perm", ir::Integers{1, 2, 0}}});
  const ir::Value z = b.add("transpose", {y}, {{"perm", ir::Integers{2, 0, 1}}});
  b.output("out", b.add("relu", {z}));
  auto graph = b.finish();
  ASSERT_TRUE(graph.ok());
  auto tensors = TensorEGraph::from_graph(*graph);
  ASSERT_TRUE(tensors.ok());
  const auto rules = parsed(R"(
    rule compose  transpose{perm=?p}(transpose{perm=?q}(?x)) => transpose{perm=compose(?q, ?p)}(?x)
    rule identity  transpose{perm=range(rank(?x))}(?x) => ?x
    rule never  transpose{perm=[0, 1, 2]}(?x) where rank(?x) == 2 => relu(?x)
  )");
  const auto compiled = compile(rules, **tensors);
  const SaturateReport report = saturate(**tensors, compiled);
  EXPECT_EQ(report.run.stop, egraph::StopReason::kSaturated);
  const auto back = (*tensors)->to_graph((*tensors)->original());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->operator_count(), 1U);
  EXPECT_EQ(report.run.rules[2].applied, 0U);
}

TEST(RuleParser, FindsRulesOfEgretByName) {
  const std::map<std::string, std::string> names{{"a", "mine/add-neg-reversed"},
                                                 {"b", "no-such-rule"}};
  const auto some = parse_builtin_rules(&names);
  ASSERT_TRUE(some.ok()) << some.status().message();
  ASSERT_EQ(some->size(), 2U);
  EXPECT_EQ((*some)[0].name, "add-neg");
  EXPECT_EQ((*some)[1].name, "add-neg-reversed");
  const auto all = parse_builtin_rules();
  ASSERT_TRUE(all.ok()) << all.status().message();
  const auto found = std::ranges::find((*all), "add-neg", &Rule::name);
  ASSERT_NE(found, all->end());
  EXPECT_EQ(content_hash(*found), content_hash((*some)[0]));
}

}  // namespace
}  // namespace egret::rules

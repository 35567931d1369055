// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/term_graph.h"

#include <gtest/gtest.h>

#include <set>

#include "egraph/search/matcher.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "rules/tensors/compile.h"
#include "rules/tensors/graph_rewriting.h"
#include "rules/tensors/rule_set.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

using egraph::ClassId;
using egraph::OpId;
using ir::DType;
using ir::GraphBuilder;
using ir::Tensor;
using ir::Value;

// Two layers, the first of two products of one input, with enough repetition for rules to find.
ir::Graph layers() {
  GraphBuilder b;
  base::Random random(3);
  const Value x = b.input("x", {DType::kF32, {4, 6}});
  const auto weight = [&](std::int64_t rows, std::int64_t columns) {
    return b.constant(Tensor::random({DType::kF32, {rows, columns}}, random));
  };
  const Value p = b.add("matmul", {x, weight(6, 5)});
  const Value q = b.add("matmul", {x, weight(6, 5)});
  const Value r = b.add("relu", {b.add("add", {b.add("relu", {p}), b.add("relu", {q})})});
  const Value joined = b.add("concat", {r, p, q, r}, {{"axis", std::int64_t{1}}});
  b.output("y", b.add("matmul", {joined, weight(20, 3)}));
  const Value turned = b.add("transpose", {p}, {{"perm", ir::Integers{1, 0}}});
  const Value back = b.add("transpose", {b.add("relu", {turned})}, {{"perm", ir::Integers{1, 0}}});
  const Value products = b.add("add", {b.add("mul", {q, p}), b.add("mul", {q, back})});
  b.output("w", b.add("add", {products, b.add("neg", {b.add("sub", {r, back})})}));
  b.output("z", b.add("relu", {b.add("relu", {r})}));
  return *b.finish();
}

using Row = std::pair<std::vector<ClassId>, std::vector<OpId>>;

Row row_of(const egraph::Match& match) {
  return {{match.classes().begin(), match.classes().end()},
          {match.ops().begin(), match.ops().end()}};
}

// The engine's matcher on the e-graph of one program sees that program.
TEST(TermGraph, FindsTheMatchesThatTheEngineFinds) {
  const ir::Graph graph = layers();
  auto terms = TensorEGraph::from_graph(graph);
  ASSERT_TRUE(terms.ok());
  const TermGraph program(**terms, (*terms)->roots());
  const std::vector<CompiledRule> rules = compile(*select_rules("all"), **terms);
  std::size_t all = 0;
  std::size_t several = 0;
  for (const CompiledRule& rule : rules) {
    egraph::Matcher matcher(rule.rewrite.pattern(), (*terms)->egraph().ops());
    egraph::MatchBuffer buffer = matcher.make_buffer();
    egraph::Budget budget{egraph::Limits{}};
    ASSERT_EQ(matcher.search((*terms)->egraph(), 1'000'000, budget, buffer),
              egraph::SearchEnd::kComplete);
    std::multiset<Row> expected;
    for (std::size_t i = 0; i < buffer.size(); ++i) expected.insert(row_of(buffer[i]));
    std::multiset<Row> found;
    for_each_match(**terms, program, rule.rewrite.pattern(),
                   [&](const egraph::Match& match) { found.insert(row_of(match)); });
    EXPECT_EQ(found, expected) << rule.name();
    all += found.size();
    several += rule.multi_pattern ? found.size() : 0;
  }
  EXPECT_GT(all, 40U);
  EXPECT_GT(several, 0U);
}

TEST(TermGraph, AnotherProgramsTermsAreNotMatched) {
  GraphBuilder b;
  b.output("y", b.add("relu", {b.add("relu", {b.input("x", {DType::kF32, {2}})})}));
  auto terms = *TensorEGraph::from_graph(*b.finish());
  const CompiledRule rule = compile(parsed("relu(relu(?x)) => relu(?x)"), *terms);
  const auto matches = [&](const TermGraph& program) {
    int count = 0;
    for_each_match(*terms, program, rule.rewrite.pattern(), [&](const egraph::Match&) { ++count; });
    return count;
  };
  const TermGraph twice(*terms, terms->roots());
  EXPECT_EQ(matches(twice), 1);
  const TermGraph once(*terms, {twice.terms()[1]});
  EXPECT_EQ(matches(once), 0);
  EXPECT_EQ(once.users(once.terms()[0]).size(), 1U);
}

// Each application gives a program with the same outputs; both targets of a rule with two sources
// take their places.
TEST(TermGraph, EachReplacementKeepsTheValues) {
  const ir::Graph graph = layers();
  auto terms = *TensorEGraph::from_graph(graph);
  const TermGraph program(*terms, terms->roots());
  base::Random random(7);
  const std::vector<Tensor> inputs{Tensor::random({DType::kF32, {4, 6}}, random)};
  const auto expected = *ir::interpret(graph, inputs);
  std::set<std::string> applied;
  const std::vector<CompiledRule> rules = compile(*select_rules("all"), *terms);
  for (const CompiledRule& rule : rules) {
    for_each_match(*terms, program, rule.rewrite.pattern(), [&](const egraph::Match& match) {
      const auto by = replacements(*terms, rule.rewrite, match);
      if (by.empty()) return;
      const auto outputs = replaced(*terms, program, by);
      ASSERT_TRUE(outputs.ok());
      const auto rewritten = to_graph(*terms, TermGraph(*terms, *outputs));
      ASSERT_TRUE(rewritten.ok()) << rewritten.status().message();
      ASSERT_TRUE(rewritten->check_invariants().ok());
      const auto values = *ir::interpret(*rewritten, inputs);
      for (std::size_t k = 0; k < values.size(); ++k) {
        for (std::int64_t i = 0; i < values[k].elements(); ++i)
          EXPECT_NEAR(values[k].f64_at(i), expected[k].f64_at(i), 1e-4) << rule.name();
      }
      applied.insert(rule.name());
    });
  }
  EXPECT_TRUE(applied.contains("merge-matmuls-sharing-left"));
  EXPECT_GT(applied.size(), 8U);
}

// What a rule with one source makes is what rewriting the graph itself makes.
TEST(TermGraph, AgreesWithRewritingTheGraph) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {2, 3}});
  const Value y = b.input("y", {DType::kF32, {2, 3}});
  b.output("z", b.add("relu", {b.add("add", {x, b.add("add", {y, x})})}));
  const ir::Graph graph = *b.finish();
  auto terms = *TensorEGraph::from_graph(graph);
  const Rule rule = parsed("add(?a, ?b) => add(?b, ?a)");
  const CompiledRule compiled = compile(rule, *terms);
  const TermGraph program(*terms, terms->roots());
  const std::vector<ClassId> term_of = terms_of(*terms, graph);
  int compared = 0;
  for_each_match(*terms, program, compiled.rewrite.pattern(), [&](const egraph::Match& match) {
    const auto by = replacements(*terms, compiled.rewrite, match);
    ASSERT_EQ(by.size(), 1U);
    const auto at = std::ranges::find(term_of, by.front().first);
    const ir::NodeId node(static_cast<std::size_t>(at - term_of.begin()));
    const auto expected = rewritten(graph, node, rule);
    ASSERT_TRUE(expected);
    const auto outputs = *replaced(*terms, program, by);
    EXPECT_TRUE(same_terms(*to_graph(*terms, TermGraph(*terms, outputs)), *expected));
    ++compared;
  });
  EXPECT_EQ(compared, 2);
}

}  // namespace
}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/syntax.h"

#include <gtest/gtest.h>

#include "egraph/core/smallest_term.h"
#include "egraph/search/runner.h"

namespace egret::egraph {
namespace {

TEST(Syntax, TermsComeBackAsTheyWere) {
  OpTable ops;
  const Syntax syntax(ops);
  for (const std::string text : {"a", "(+ a (* b 2))", "(f (g (h x y) -1))"}) {
    EGraph egraph(ops);
    const ClassId root = *syntax.add_term(egraph, text);
    ASSERT_TRUE(egraph.rebuild().ok());
    EXPECT_EQ(smallest_term(egraph, root).text, text);
  }
  EGraph egraph(ops);
  EXPECT_EQ(*syntax.add_term(egraph, "(x)"), *syntax.add_term(egraph, " x # the same"));
}

TEST(Syntax, RulesHaveNamesAndConditionsOrNot) {
  OpTable ops;
  Syntax syntax(ops);
  syntax.define_condition("ok", 1, [](EGraph&, std::span<const ClassId>) { return true; });
  const auto rules =
      *syntax.rules("swap: (+ ?a ?b) => (+ ?b ?a)\n\n# note\n(f ?x) => ?x if ok(?x)");
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].name(), "swap");
  EXPECT_EQ(rules[1].name(), "line 4");
}

TEST(Syntax, TargetsMayBeCallsOfBuilders) {
  OpTable ops;
  Syntax syntax(ops);
  syntax.define_builder("twice", 2, [&](EGraph& egraph, std::span<const ClassId> c) {
    return egraph.add(ops.op("pair", 2), {c[1], c[1]});
  });
  EGraph egraph(ops);
  const ClassId root = *syntax.add_term(egraph, "(f a b)");
  const auto rules = *syntax.rules("?r = (f ?x ?y) => ?r = twice(?r, ?x) ");
  Runner(egraph, rules).run();
  EXPECT_TRUE(egraph.same(root, *syntax.add_term(egraph, "(pair a a)")));
}

TEST(Syntax, DeepTermsDoNotOverflowTheStack) {
  OpTable ops;
  const Syntax syntax(ops);
  EGraph egraph(ops);
  constexpr std::size_t kDepth = 200'000;
  std::string text;
  for (std::size_t i = 0; i < kDepth; ++i) text += "(f ";
  text += "x" + std::string(kDepth, ')');
  EXPECT_TRUE(syntax.add_term(egraph, text).ok());
  EXPECT_EQ(egraph.node_count(), kDepth + 1);
}

struct Bad {
  std::string_view text;
  std::string_view message;
};

TEST(Syntax, ErrorsNameLineAndColumn) {
  OpTable ops;
  Syntax syntax(ops);
  syntax.define_condition("pos", 1, [](EGraph&, std::span<const ClassId>) { return true; });
  syntax.define_builder("one", 1,
                        [](EGraph&, std::span<const ClassId> c) { return base::Result(c[0]); });
  const Bad bad[] = {
      {"(+ ?a ?b", "line 1, column 2: the parenthesis before '+' is not closed"},
      {"(+ ?a ?b) => (+ ?b ?c)", "line 1, column 20: variable ?c does not occur on the left side"},
      {"a: (f ?x)\n", "line 1, column 10: expected '=>'"},
      {"\n  (f ?x) => ) ", "line 2, column 13: expected a term, found ')'"},
      {"\n\n(f ?x) =>", "line 3, column 10: expected a term, found the end"},
      {"(?f ?x) => ?x", "line 1, column 2: a variable cannot be applied"},
      {"() => a", "line 1, column 2: expected an operator after '('"},
      {"(f ?) => a", "line 1, column 4: a variable needs a name after '?'"},
      {"(f ?x) => ?x ?x", "line 1, column 14: unexpected '?x'"},
      {"(f ?x) => ?x if neg(?x)", "line 1, column 17: no condition 'neg' is defined"},
      {"(f ?x) => ?x if pos ?x", "line 1, column 21: expected '(' after the condition's name"},
      {"(f ?x) => ?x if pos(?x, ?x)", "line 1, column 17: condition 'pos' takes 1 arguments"},
      {"(f ?x) => ?x if pos(x)", "line 1, column 21: expected a variable"},
      {"(f ?x) => ?x, (g ?x)", "line 1, column 16: this target has no source"},
      {"a = (f ?x) => ?x", "line 1, column 1: expected a variable before '='"},
      {"(f ?x) => g(?x)", "line 1, column 11: no builder 'g' is defined"},
      {"(f ?x) => one(?x, ?x)", "line 1, column 11: builder 'one' takes 1 arguments"},
      {"(f ?x) => one(?y)", "line 1, column 15: variable ?y does not occur on the left side"},
      {"(f ?x) => one(?x", "line 1, column 17: expected ')' or ','"},
      {"one(?x) => ?x", "line 1, column 4: expected '=>'"},
      {"?a = ?x => ?x", "line 1, column 6: expected an operator after '='"},
  };
  for (const Bad& b : bad) {
    const auto rules = syntax.rules(b.text);
    EXPECT_EQ(rules.status().message(), b.message) << b.text;
  }
  EGraph egraph(ops);
  EXPECT_EQ(syntax.add_term(egraph, "(f ?x)").status().message(),
            "line 1, column 4: a term has no variables");
  EXPECT_EQ(syntax.pattern("(f ?x) a").status().message(), "line 1, column 8: unexpected 'a'");
}

}  // namespace
}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
#include "egraph/proofs/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "egraph/proofs/explainer.h"
#include "egraph/proofs/explanation_certificate.h"
#include "egraph/search/runner.h"
#include "egraph/search/syntax.h"
#include "tests/egraph/certificate_checker.h"

namespace egret::egraph {
namespace {

using ::testing::HasSubstr;

class ExplanationTest : public ::testing::Test {
 protected:
  void SetUp() override { egraph_.enable_proofs(); }

  ClassId add(std::string_view term) { return *syntax_.add_term(egraph_, term); }
  void run(std::string_view rules, std::uint64_t iterations = 10) {
    rules_.push_back(*syntax_.rules(rules));
    ASSERT_TRUE(checker_.add_rules(rules).ok());
    Runner runner(egraph_, rules_.back());
    runner.limits().iterations = iterations;
    runner.run();
  }
  void rebuild() { ASSERT_TRUE(egraph_.rebuild().ok()); }

  // The explanation, after both of its certificates were replayed.
  Explanation explain_and_check(std::string_view left, std::string_view right) {
    const ClassId a = add(left);
    const ClassId b = add(right);
    rebuild();
    const base::Result<Explanation> why = explain(egraph_, a, b);
    if (!why.ok()) {
      ADD_FAILURE() << why.status().message();
      return *explain(egraph_, a, a);
    }
    for (const base::Json& document : {tree_certificate(*why), *flat_certificate(*why)}) {
      const auto proven = checker_.check(document);
      if (!proven.ok()) {
        ADD_FAILURE() << proven.status().message() << "\n" << why->tree_text();
        continue;
      }
      EXPECT_EQ(proven->left_text, left);
      EXPECT_EQ(proven->right_text, right);
    }
    return *why;
  }

  OpTable ops_;
  Syntax syntax_{ops_};
  EGraph egraph_{ops_};
  std::vector<std::vector<Rewrite>> rules_;
  checking::CertificateChecker checker_;
};

TEST_F(ExplanationTest, SaysWhichRulesWereUsedWhere) {
  add("(/ (* x 2) 2)");
  run("assoc: (/ (* ?a ?b) ?c) => (* ?a (/ ?b ?c))\n"
      "same: (/ ?a ?a) => 1\n"
      "one: (* ?a 1) => ?a\n");
  const Explanation why = explain_and_check("(/ (* x 2) 2)", "x");
  EXPECT_EQ(why.flat_text(),
            "(/ (* x 2) 2)\n"
            "= (* x (/ 2 2))    by assoc\n"
            "= (* x 1)    by same at 1\n"
            "= x    by one\n");
  EXPECT_EQ(explain_and_check("x", "(/ (* x 2) 2)").flat_text(),
            "x\n"
            "= (* x 1)    by <- one\n"
            "= (* x (/ 2 2))    by <- same at 1\n"
            "= (/ (* x 2) 2)    by <- assoc\n");
}

TEST_F(ExplanationTest, TellsTermsOfOneClassApart) {
  run("zero: (+ ?a 0) => ?a\n");
  add("(+ x 0)");
  rebuild();
  run("zero: (+ ?a 0) => ?a\n");
  EXPECT_NE(add("(+ x 0)"), add("x"));
  EXPECT_TRUE(egraph_.same(add("(+ x 0)"), add("x")));
  // A term that was never added in these words.
  const Explanation why = explain_and_check("(f (+ x 0))", "(f x)");
  EXPECT_THAT(why.flat_text(), HasSubstr("(f x)    by zero at 0"));
}

TEST_F(ExplanationTest, ATermIsItselfByReflexivity) {
  const Explanation why = explain_and_check("(f x)", "(f x)");
  EXPECT_EQ(why.steps.size(), 1U);
  EXPECT_EQ(why.flat_text(), "(f x)\n");
}

TEST_F(ExplanationTest, NamesWhatTheCallerSaid) {
  ASSERT_TRUE(egraph_.merge(add("a"), add("b"), "hypothesis").ok());
  rebuild();
  ASSERT_TRUE(egraph_.merge(add("(f a)"), add("c")).ok());
  rebuild();
  checker_.define_axiom("given", [](const checking::Terms& t, std::size_t l, std::size_t r) {
    return t.text(l) == "(f a)" && t.text(r) == "c";
  });
  const ClassId left = add("(f b)"), right = add("c");
  rebuild();
  const Explanation why = *explain(egraph_, left, right);
  EXPECT_EQ(why.flat_text(),
            "(f b)\n"
            "= (f a)    by <- (hypothesis) at 0\n"
            "= c    by (given)\n");
  EXPECT_FALSE(checker_.check(tree_certificate(why)).ok());  // no one believes the hypothesis
  checker_.define_axiom("hypothesis",
                        [](const checking::Terms&, std::size_t, std::size_t) { return true; });
  EXPECT_TRUE(checker_.check(tree_certificate(why)).ok());
}

// f(f(a)) = a and f(f(f(a))) = a make f(a) = a (Nelson and Oppen's example).
TEST_F(ExplanationTest, FollowsCongruenceThroughCycles) {
  ASSERT_TRUE(egraph_.merge(add("(f (f a))"), add("a")).ok());
  ASSERT_TRUE(egraph_.merge(add("(f (f (f a)))"), add("a")).ok());
  rebuild();
  checker_.define_axiom("given", [](const checking::Terms& t, std::size_t l, std::size_t r) {
    return (t.text(l) == "(f (f a))" || t.text(l) == "(f (f (f a)))") && t.text(r) == "a";
  });
  explain_and_check("(f a)", "a");
  explain_and_check("(f (f (f (f (f a)))))", "(f a)");
}

TEST_F(ExplanationTest, ProvesTheOtherSourcesOfARule) {
  add("(p (f a) (g b))");
  ASSERT_TRUE(egraph_.merge(add("(f a)"), add("c"), "axiom").ok());
  ASSERT_TRUE(egraph_.merge(add("(g b)"), add("c"), "axiom").ok());
  checker_.define_axiom("axiom", [](const checking::Terms& t, std::size_t l, std::size_t r) {
    return (t.text(l) == "(f a)" || t.text(l) == "(g b)") && t.text(r) == "c";
  });
  run("meet: ?x = (f ?a), ?x = (g ?b) => ?x = (h ?a ?b)\n");
  const Explanation why = explain_and_check("(p (f a) c)", "(p (h a b) c)");
  EXPECT_EQ(why.rules.size(), 1U);
  EXPECT_EQ(why.rules[0]->text(ops_), "?x, ?x = (f ?a), ?x = (g ?b) => (h ?a ?b)");
}

TEST_F(ExplanationTest, ExplainsEachOutputOfAMultiPatternRule) {
  add("(out (mul x a) (mul x b))");
  run("pair: ?p = (mul ?x ?a), ?q = (mul ?x ?b) => "
      "?p = (fst (mul ?x (cat ?a ?b))), ?q = (snd (mul ?x (cat ?a ?b)))\n",
      1);
  explain_and_check("(out (mul x a) (mul x b))",
                    "(out (fst (mul x (cat a b))) (snd (mul x (cat a b))))");
  explain_and_check("(fst (mul x (cat b a)))", "(snd (mul x (cat a b)))");
}

TEST_F(ExplanationTest, OfWhatIsNotKnownIsRefused) {
  const ClassId a = add("a"), b = add("b");
  rebuild();
  EXPECT_THAT(explain(egraph_, a, b).status().message(), HasSubstr("not known to be equal"));
  ASSERT_TRUE(egraph_.merge(a, b).ok());
  EXPECT_THAT(explain(egraph_, a, b).status().message(), HasSubstr("rebuilt"));
  rebuild();
  Explainer explainer(egraph_);
  EXPECT_TRUE(explainer.explain(a, b).ok());
  add("c");
  rebuild();
  EXPECT_THAT(explainer.explain(a, b).status().message(), HasSubstr("has changed"));
  EGraph other(ops_);
  EXPECT_THAT(explain(other, a, b).status().message(), HasSubstr("enable_proofs"));
}

TEST_F(ExplanationTest, SurvivesRollback) {
  const ClassId fa = add("(f a)");
  const auto mark = egraph_.savepoint();
  add("(g (f a) (f b))");
  EXPECT_TRUE(egraph_.rollback(mark));
  ASSERT_TRUE(egraph_.merge(fa, add("b"), "axiom").ok());
  rebuild();
  const auto later = egraph_.savepoint();
  add("(g (f a) b)");
  add("(g b b)");  // a twin: no node of its own
  EXPECT_TRUE(egraph_.rollback(later));
  EXPECT_TRUE(egraph_.check_invariants().ok());
  checker_.define_axiom("axiom", [](const checking::Terms& t, std::size_t l, std::size_t r) {
    return t.text(l) == "(f a)" && t.text(r) == "b";
  });
  explain_and_check("(g (f a) (h (f a)))", "(g b (h b))");
}

TEST_F(ExplanationTest, ForgetsWhatWasPopped) {
  const ClassId a = add("a"), b = add("b"), c = add("c");
  rebuild();
  egraph_.push();
  ASSERT_TRUE(egraph_.merge(a, b, "popped").ok());
  add("(f a)"), add("(f b)");
  rebuild();
  egraph_.pop();
  EXPECT_THAT(explain(egraph_, a, b).status().message(), HasSubstr("not known to be equal"));
  ASSERT_TRUE(egraph_.merge(a, c, "axiom").ok());
  ASSERT_TRUE(egraph_.merge(c, b, "axiom").ok());
  checker_.define_axiom("axiom", [](const checking::Terms& t, std::size_t l, std::size_t r) {
    return t.text(l) == "c" || t.text(r) == "c";
  });
  explain_and_check("(f a)", "(f b)");
}

TEST_F(ExplanationTest, DoesNotMindHiddenNodes) {
  const ClassId fa = add("(f a)");
  ASSERT_TRUE(egraph_.merge(fa, add("b"), "axiom").ok());
  rebuild();
  egraph_.hide(egraph_.lookup_node(ops_.op("f", 1), std::vector{egraph_.find(add("a"))}));
  rebuild();
  checker_.define_axiom("axiom",
                        [](const checking::Terms&, std::size_t, std::size_t) { return true; });
  explain_and_check("(g (f a))", "(g b)");
}

TEST_F(ExplanationTest, IsNotLongerWhenShortened) {
  add("(+ a (+ b (+ c (+ d e))))");
  run("comm: (+ ?a ?b) => (+ ?b ?a)\n"
      "assoc: (+ ?a (+ ?b ?c)) => (+ (+ ?a ?b) ?c)\n");
  const ClassId a = add("(+ a (+ b (+ c (+ d e))))"), b = add("(+ (+ (+ (+ e d) c) b) a)");
  rebuild();
  Explainer explainer(egraph_);
  const Explanation plain = *explainer.explain(a, b);
  const Explanation shorter = *explainer.explain(a, b, {.shorten = true});
  EXPECT_LE(shorter.flat_length(), plain.flat_length());
  EXPECT_GE(shorter.flat_length(), 4U);
  EXPECT_TRUE(checker_.check(tree_certificate(shorter)).ok());
  EXPECT_TRUE(checker_.check(*flat_certificate(shorter)).ok());
}

// A chain as long as a run may make it.
TEST_F(ExplanationTest, MayBeVeryDeep) {
  constexpr int kDepth = 20'000;
  const OpId f = ops_.op("f", 1);
  ClassId a = add("a"), b = add("b");
  const ClassId end_a = a, end_b = b;
  for (int i = 0; i < kDepth; ++i) a = *egraph_.add(f, {a}), b = *egraph_.add(f, {b});
  ASSERT_TRUE(egraph_.merge(end_a, end_b).ok());
  rebuild();
  const Explanation why = *explain(egraph_, a, b);
  EXPECT_EQ(why.flat_length(), 1U);
  EXPECT_EQ(why.flat()->steps[0].position.size(), static_cast<std::size_t>(kDepth));
}

}  // namespace
}  // namespace egret::egraph

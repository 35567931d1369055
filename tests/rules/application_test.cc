// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/application.h"

#include <gtest/gtest.h>

#include "tests/rules/parsed_rule.h"

namespace egret::rules::generator {
namespace {

// "always", "never", or the condition.
std::string worth(std::string_view text) {
  KnownOperators known;
  const Rule rule = with_worth(parsed(text), known);
  if (rule.has_tag("extra")) return "never";
  // "not constant(out)", and what else there is.
  return rule.heuristics.size() == 1 ? "always" : to_string(rule, rule.heuristics.back());
}

TEST(Application, OfWhatSavesAProductIsAlwaysWorthIt) {
  EXPECT_EQ(worth("add(matmul(?x, ?a), matmul(?x, ?b)) where same_type(?a, ?b) "
                  "=> matmul(?x, add(?a, ?b))"),
            "always");
}

TEST(Application, OfWhatNeedsAProductMoreIsNeverWorthIt) {
  EXPECT_EQ(worth("matmul(?x, add(?a, ?b)) where same_type(?a, ?b) "
                  "=> add(matmul(?x, ?a), matmul(?x, ?b))"),
            "never");
}

TEST(Application, OfWhatOnlyChangesTheOrderIsWorthATry) {
  EXPECT_EQ(worth("relu(transpose{*t}(?x)) => transpose{*t}(relu(?x))"), "always");
}

TEST(Application, OfARegroupingIsWorthItWhereTwoTermsAreWeights) {
  EXPECT_EQ(worth("matmul(matmul(?x, ?a), ?b) => matmul(?x, matmul(?a, ?b))"),
            "constant(?a) and constant(?b)");
}

TEST(Application, OfTwoSidesWithAsManyOperatorsTheOneWithLessWorkIsPreferred) {
  EXPECT_EQ(worth("slice{*s}(relu(?x)) => relu(slice{*s}(?x))"), "always");
  EXPECT_EQ(worth("relu(slice{*s}(?x)) => slice{*s}(relu(?x))"), "never");
}

TEST(Application, OfWhatOnlyAddsAnOperatorIsNeverWorthIt) {
  EXPECT_EQ(worth("relu(?x) => relu(relu(?x))"), "never");
}

TEST(Application, OfWhatOnlyWeightsNeedIsNeverWorthIt) {
  EXPECT_EQ(worth("relu(fill{shape=?s, value=1.0, dtype=?d}()) "
                  "=> fill{shape=?s, value=1.0, dtype=?d}()"),
            "never");
}

TEST(Application, KeepsTheHeuristicsOfTheRule) {
  KnownOperators known;
  const Rule rule = with_worth(
      parsed("p = matmul(?x, ?a) q = matmul(?x, ?b) where rank(?a) == 2 and rank(?b) == 2 "
             "heuristic before(p, q) let m = matmul(?x, concat{axis=1}(?a, ?b)) "
             "=> p = slice{axis=rank(?x) - 1, start=0, size=dim(?a, 1), step=1}(m) "
             "q = slice{axis=rank(?x) - 1, start=dim(?a, 1), size=dim(?b, 1), step=1}(m)"),
      known);
  ASSERT_EQ(rule.heuristics.size(), 2U) << to_string(rule);
  EXPECT_EQ(to_string(rule, rule.heuristics[0]), "before(p, q)");
  EXPECT_EQ(to_string(rule, rule.heuristics[1]), "not constant(p)");
}

}  // namespace
}  // namespace egret::rules::generator

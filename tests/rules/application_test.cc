// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/application.h"

#include <gtest/gtest.h>

#include "tests/rules/parsed_rule.h"

namespace egret::rules::generator {
namespace {

// "always", "never", or the condition.
std::string worth(std::string_view text) {
  KnownSignatures known;
  const Rule rule = with_worth(parsed(text), known);
  if (rule.has_tag("extra")) return "never";
  if (rule.heuristics.empty()) return "always";
  return to_string(rule, rule.heuristics.back());
}

TEST(Application, OfWhatSavesAProductIsAlwaysWorthIt) {
  EXPECT_EQ(worth("add(matmul(?x, ?a), matmul(?x, ?b)) where same_type(?a, ?b) "
                  "=> matmul(?x, add(?a, ?b))"),
            "always");
}

TEST(Application, OfWhatNeedsAProductMoreIsNotWorthItUnlessOneOfWeightsIs) {
  EXPECT_EQ(worth("matmul(?x, add(?a, ?b)) where same_type(?a, ?b) "
                  "=> add(matmul(?x, ?a), matmul(?x, ?b))"),
            "constant(?a) and constant(?x) or constant(?b) and constant(?x)");
}

TEST(Application, OfWhatOnlyChangesTheOrderIsWorthATry) {
  EXPECT_EQ(worth("relu(transpose{*t}(?x)) => transpose{*t}(relu(?x))"), "always");
}

TEST(Application, OfWhatOnlyAddsAnOperatorIsNeverWorthIt) {
  EXPECT_EQ(worth("relu(?x) => relu(relu(?x))"), "never");
}

TEST(Application, OfWhatOnlyWeightsNeedIsNeverWorthIt) {
  EXPECT_EQ(worth("relu(fill{shape=?s, value=1.0, dtype=?d}()) "
                  "=> fill{shape=?s, value=1.0, dtype=?d}()"),
            "never");
}

TEST(Application, MovesWorkToTheWeightWhereOneFactorIsOne) {
  EXPECT_EQ(worth("add(?x, transpose{perm=?p}(?y)) where rank(?y) == 2 and ?p == [1, 0] and "
                  "rank(?x) == 2 => transpose{perm=?p}(add(?y, transpose{perm=?p}(?x)))"),
            "constant(?x)");
}

TEST(Application, KeepsTheHeuristicsOfTheRule) {
  KnownSignatures known;
  const Rule rule = with_worth(
      parsed("p = relu(add(?x, ?y)) q = relu(add(?x, ?z)) where same_type(?y, ?z) "
             "heuristic before(p, q) let m = relu(concat{axis=0}(add(?x, ?y), add(?x, ?z))) "
             "where same_type(?x, ?y) and rank(?x) == 2 "
             "=> p = slice{axis=0, start=0, size=dim(?y, 0), step=1}(m) "
             "q = slice{axis=0, start=dim(?y, 0), size=dim(?z, 0), step=1}(m)"),
      known);
  ASSERT_FALSE(rule.heuristics.empty());
  EXPECT_EQ(to_string(rule, rule.heuristics.front()), "before(p, q)");
}

}  // namespace
}  // namespace egret::rules::generator

// SPDX-License-Identifier: Apache-2.0
#include "tests/egraph/exhaustive_matching.h"

#include "tests/egraph/exhaustive_deltas.h"

namespace egret::egraph {
namespace {

TEST(ExhaustiveMatching, OneAtomAgreesInAllEGraphsOfSixTerms) {
  CaseLanguage language;
  auto patterns = small_patterns(language, 1, 4, true);
  const CaseCount count =
      compare_all(language, patterns, {"a", "b", "(f a)", "(f b)", "(g a b)", "(f (f a))"}, true);
  EXPECT_GT(count.egraphs, 500U);
  EXPECT_GT(count.matches, count.egraphs);
}

TEST(ExhaustiveMatching, TwoAtomsAgreeInAllEGraphsOfFourTerms) {
  CaseLanguage language;
  auto patterns = small_patterns(language, 2, 6);
  const CaseCount count =
      compare_all(language, patterns, {"a", "(f a)", "(g a (f a))", "(g a a)"}, false);
  EXPECT_GT(count.patterns, 800U);
  EXPECT_GT(count.egraphs, 10U);
}

TEST(ExhaustiveMatching, ThreeAtomsAgreeInAllEGraphsOfThreeTerms) {
  CaseLanguage language;
  auto patterns = small_patterns(language, 3, 6);
  const CaseCount count = compare_all(language, patterns, {"a", "(f a)", "(g a (f a))"}, false);
  EXPECT_GT(count.patterns, 1000U);
  EXPECT_GT(count.matches, 1000U);
}

TEST(ExhaustiveMatching, DeltasOfEveryEqualityBetweenFourTermsAreFound) {
  CaseLanguage language;
  ComparedDeltas deltas(language, sampled_patterns(language, 2, 6, 12));
  deltas.run({"a", "(f a)", "(g a (f a))", "(g a a)"});
  EXPECT_GT(deltas.steps(), 20U);
}

}  // namespace
}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
#include "tests/egraph/exhaustive_matching.h"

#include "tests/egraph/exhaustive_deltas.h"

namespace egret::egraph {
namespace {

const std::vector<std::string_view> kTerms = {"a",       "b",       "(f a)",    "(f b)",
                                              "(g a b)", "(g b a)", "(f (f a))"};

TEST(ExhaustiveMatchingSlow, TwoAtomsAgreeInAllEGraphsOfSevenTerms) {
  CaseLanguage language;
  auto patterns = small_patterns(language, 2, 6, false);
  const CaseCount count = compare_all(language, patterns, kTerms, false);
  RecordProperty("egraphs", static_cast<int>(count.egraphs));
  EXPECT_GT(count.egraphs, 200U);
}

TEST(ExhaustiveMatchingSlow, TwoAtomsAgreeWithEachNodeHidden) {
  CaseLanguage language;
  auto patterns = small_patterns(language, 2, 5, true);
  compare_all(language, patterns, {"a", "b", "(f a)", "(f b)", "(g a b)"}, true);
}

TEST(ExhaustiveMatchingSlow, ThreeAtomsAgreeInAllEGraphsOfFiveTerms) {
  CaseLanguage language;
  auto patterns = small_patterns(language, 3, 7);
  const CaseCount count =
      compare_all(language, patterns, {"a", "b", "(f a)", "(g a b)", "(f (f a))"}, false);
  EXPECT_GT(count.patterns, 5000U);
}

TEST(ExhaustiveMatchingSlow, DeltasOfEveryEqualityBetweenFiveTermsAreFound) {
  CaseLanguage language;
  for (const std::size_t atoms : {1, 2, 3}) {
    ComparedDeltas deltas(language, sampled_patterns(language, atoms, 6, atoms == 3 ? 7 : 1));
    deltas.run({"a", "b", "(f a)", "(g a b)", "(f (f a))"});
    EXPECT_GT(deltas.steps(), 50U);
  }
}

}  // namespace
}  // namespace egret::egraph

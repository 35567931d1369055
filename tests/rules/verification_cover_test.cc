// SPDX-License-Identifier: Apache-2.0
// Verdicts about sizes that no random instance has.
#include <gtest/gtest.h>

#include <string>

#include "rules/proving/verification.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

// Wrong beyond a size that no random instance has. The witness is small in all other sizes.
TEST(Verification, RefutesWhatIsWrongBeyondASize) {
  KnownOperators known;
  const auto truncated = [](const std::string& decision) {
    return parsed(
        "matmul(?x, ?w) where rank(?x) == 2 and rank(?w) == 2 => matmul("
        "slice{axis=1, start=0, step=1, size=if(" +
        decision +
        ", dim(?w, 0) - 1, dim(?w, 0))}(?x), "
        "slice{axis=0, start=0, step=1, size=if(" +
        decision + ", dim(?w, 0) - 1, dim(?w, 0))}(?w))");
  };
  for (const char* decision :
       {"dim(?w, 0) > 8", "dim(?w, 0) > 70000", "dim(?w, 0) == dim(?x, 0) + 500",
        "dim(?w, 0) % 128 == 127", "dim(?w, 0) / 3 > 1000",
        "dim(?w, 0) == dim(?x, 0) * 12 + dim(?w, 1)"}) {
    const Verdict verdict = verify(truncated(decision), {}, known);
    EXPECT_EQ(to_string(verdict.status), "refuted") << decision;
  }
}

// Few negative integers are drawn, so they stand for all.
TEST(Verification, TreatsNegativeIntegersAsUnknown) {
  KnownOperators known;
  const auto verdict_of = [&](const std::string& target, const std::string& sign) {
    const Rule rule = parsed(
        "mul(neg(?x), ?c) where is_splat(?c) and dtype(?x) == \"i64\" and "
        "same_type(?x, out) and splat_of(?c) " +
        sign + " => " + target);
    return std::string(to_string(verify(rule, {}, known).status));
  };
  EXPECT_EQ(verdict_of("?x", "< 0"), "refuted");  // true of -1 alone
  EXPECT_EQ(verdict_of("neg(mul(?x, ?c))", "< 0"), "proven");
  EXPECT_EQ(verdict_of("mul(?x, value(negative(splat_of(?c))))", "< 0"), "proven");
  EXPECT_EQ(verdict_of("mul(?x, value(negative(splat_of(?c))))", "> 0"), "proven");
  EXPECT_EQ(verdict_of("mul(?x, value(splat_of(?c)))", "< 0"), "refuted");
}

// Open numbers are tried near the numbers of a rule. What it decides on them besides is a limit.
TEST(Verification, IsLimitedWhereARuleDecidesOnAnOpenNumber) {
  KnownOperators known;
  const auto verdict_of = [&](const std::string& condition, const std::string& number) {
    return verify(parsed("mul(?x, ?c) where is_splat(?c) and same_type(?x, out) and " + condition +
                         " => mul(?x, value(" + number + "))"),
                  {}, known);
  };
  const std::string whole = "dtype(?x) == \"i64\"";
  const std::string real = "dtype(?x) == \"f32\"";
  const auto status_of = [&](const std::string& condition, const std::string& number) {
    return std::string(to_string(verdict_of(condition, number).status));
  };
  EXPECT_EQ(status_of(whole, "if(splat_of(?c) > 200, 0.0, splat_of(?c))"), "refuted");
  EXPECT_EQ(status_of(whole, "if(splat_of(?c) == -70, 0.0, splat_of(?c))"), "refuted");
  EXPECT_EQ(status_of(real, "if(splat_of(?c) > 200.0, 0.0, splat_of(?c))"), "refuted");
  const Verdict beyond = verdict_of(real, "if(splat_of(?c) - 300.0 > 250.0, 0.0, splat_of(?c))");
  EXPECT_TRUE(beyond.status == Verdict::Status::kRefuted || !beyond.cover.open.empty());
  EXPECT_FALSE(beyond.any_rank);
  const Verdict plain = verdict_of(real, "splat_of(?c)");
  EXPECT_EQ(to_string(plain.status), "proven");
  EXPECT_EQ(plain.cover.open, "");
  // Each of the numbers that a condition lists is tried.
  const std::string listed = whole + " and contains([1, 2, 64, 128], whole(splat_of(?c)))";
  const Verdict all = verdict_of(listed, "splat_of(?c)");
  EXPECT_EQ(to_string(all.status), "proven") << all.reason;
  EXPECT_EQ(all.cover.open, "");
  EXPECT_EQ(status_of(listed, "if(whole(splat_of(?c)) == 64, 0.0, splat_of(?c))"), "refuted");
}

// Equations are drawn with the labels in the order of their first use.
TEST(Verification, DrawsEquationsOfContractions) {
  KnownOperators known;
  const VerifyOptions few{
      .tensor_checks = 40, .instances = 40, .cover_paths = 100, .small_effort = 20'000};
  const Verdict linear = verify(
      parsed("einsum{equation=?e}(add(?a, ?b), ?c) where same_type(?a, ?b) and is_float(?a) and "
             "rank(?a) <= 2 and rank(?c) <= 2 "
             "=> add(einsum{equation=?e}(?a, ?c), einsum{equation=?e}(?b, ?c))"),
      few, known);
  EXPECT_EQ(to_string(linear.status), "proven") << linear.reason;
  EXPECT_GE(linear.families, 10);
  const Verdict exchanged =
      verify(parsed("einsum{equation=?e}(?a, ?b) where same_type(?a, ?b) and is_float(?a) "
                    "=> einsum{equation=?e}(?b, ?a)"),
             few, known);
  EXPECT_EQ(to_string(exchanged.status), "refuted");
}

// The smallest numbers beyond the size have no elements: others on their path do.
TEST(Verification, RefutesWhatIsWrongBeyondASizeWhereElementsAreFew) {
  KnownOperators known;
  const auto verdict_of = [&](const std::string& text) {
    return std::string(to_string(verify(parsed(text), {}, known).status));
  };
  const auto repeated = [](const std::string& then) {
    return "tile{repeats=[?r]}(?x) where rank(?x) == 1 and is_float(?x)\n"
           "=> mul(tile{repeats=[?r]}(?x), value(if(dim(?x, 0) > 500, " +
           then + ", 1.0)))";
  };
  EXPECT_EQ(verdict_of(repeated("2.0")), "refuted");
  EXPECT_EQ(verdict_of(repeated("1.0")), "proven");
  EXPECT_EQ(verdict_of("fill{shape=[?n, ?m], value=1.0, dtype=\"f32\"}()\n"
                       "=> fill{shape=[?n, ?m], value=if(?m > 500, 2.0, 1.0), dtype=\"f32\"}()"),
            "refuted");
}

// A kind is covered when the solver finds no numbers outside of its families.
TEST(Verification, CoversAllSizesOfAKind) {
  KnownOperators known;
  const Rule rule = parsed("concat{axis=0}(?x, relu(?x)) => concat{axis=0}(?x, relu(relu(?x)))");
  const Verdict all = verify(rule, {}, known);
  EXPECT_EQ(to_string(all.status), "proven");
  EXPECT_GE(all.cover.kinds, 5);
  EXPECT_GE(all.cover.rank, 4);
  EXPECT_FALSE(all.any_rank);
  EXPECT_EQ(all.cover.complete, all.cover.kinds);
  EXPECT_EQ(all.cover.open, "");
  VerifyOptions few;
  few.cover_paths = 3;
  const Verdict part = verify(rule, few, known);
  EXPECT_LT(part.cover.complete, part.cover.kinds);
  EXPECT_EQ(part.cover.open, "more paths than tried");
  EXPECT_EQ(part.cover.open_ranks.empty(), false);
}

// Random instances of this rule have ranks of 3 and 4.
TEST(Verification, TriesAllRanksUpToFive) {
  KnownOperators known;
  const Rule rule = parsed("relu(conv{*c}(?x, ?w)) => relu(relu(conv{*c}(?x, ?w)))");
  VerifyOptions few;
  few.higher_ranks = 0;
  EXPECT_EQ(verify(rule, few, known).cover.rank, 4);
  EXPECT_EQ(verify(rule, {}, known).cover.rank, 5);
}

// Wrong at rank 5 alone, which random instances of convolutions rarely have.
TEST(Verification, RefutesWhatIsWrongAtRankFive) {
  KnownOperators known;
  const Rule rule = parsed(
      "relu(conv{*c}(?x, ?w)) => mul(relu(conv{*c}(?x, ?w)), value(if(rank(?x) == 5, 2.0, 1.0)))");
  EXPECT_EQ(to_string(verify(rule, {}, known).status), "refuted");
}

// Elementwise on both sides: the proof on scalars is one for all ranks, whatever the conditions on
// shapes.
TEST(Verification, ProvesElementwiseRulesAtAnyRank) {
  KnownOperators known;
  for (const char* text :
       {"add(?x, ?y) => add(?y, ?x)", "mul(?x, add(?y, ?z)) => add(mul(?x, ?y), mul(?x, ?z))",
        "add(?x, ?y) where rank(?x) == 2 and dim(?y, 0) == 3 => add(?y, ?x)",
        "gelu(neg(neg(?x))) => gelu(?x)", "mul(?x, 1) => ?x",
        "sub(?x, ?x) => mul(?x, fill{shape=shape(?x), value=0.0, dtype=dtype(?x)}())"}) {
    const Verdict verdict = verify(parsed(text), {}, known);
    EXPECT_EQ(to_string(verdict.status), "proven") << text << ": " << verdict.reason;
    EXPECT_TRUE(verdict.any_rank) << text;
  }
}

// Rules that hold on scalars but not on all tensors, or whose operators are not elementwise.
TEST(Verification, DoesNotConcludeFromScalarsToTensors) {
  KnownOperators known;
  for (const char* text : {
           "transpose{perm=?p}(relu(?x)) => relu(?x)",
           "cum_sum{axis=?a}(?x) => ?x",
           "mul(?x, fill{shape=[], value=real(elements(?x)), dtype=dtype(?x)}()) => ?x",
           "softmax{axis=?a}(?x) => softmax{axis=0}(?x)",
       }) {
    const Verdict verdict = verify(parsed(text), {}, known);
    EXPECT_NE(to_string(verdict.status), "proven") << text;
    EXPECT_FALSE(verdict.any_rank) << text;
  }
  // Axes of a reduction are none at rank 0.
  const Verdict open_axes = verify(
      parsed("reduce_max{axes=?a, *k}(neg(neg(?x))) => reduce_max{axes=?a, *k}(?x)"), {}, known);
  EXPECT_EQ(to_string(open_axes.status), "proven");
  EXPECT_FALSE(open_axes.any_rank);
  const Verdict shifted =
      verify(parsed("softmax{axis=?a}(?x) => softmax{axis=?a}(relu(neg(neg(?x))))"), {}, known);
  EXPECT_EQ(to_string(shifted.status), "refuted");
}

}  // namespace
}  // namespace egret::rules

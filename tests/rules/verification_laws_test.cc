// SPDX-License-Identifier: Apache-2.0
// Verdicts that rest on single laws: of infinities, powers, roots, bits, remainders, signs of
// element types. Each law has rules that look alike and are wrong.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "rules/proving/verification.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

std::string status_of(const std::string& text) {
  KnownOperators known;
  const Verdict verdict = verify(parsed(text), {}, known);
  return std::string(to_string(verdict.status)) +
         (verdict.status == Verdict::Status::kUndecided ? ": " + verdict.reason : "");
}

class TrueRules : public testing::TestWithParam<const char*> {};
class WrongRules : public testing::TestWithParam<const char*> {};
class NeverProven : public testing::TestWithParam<const char*> {};

TEST_P(TrueRules, AreProven) { EXPECT_EQ(status_of(GetParam()), "proven"); }
TEST_P(WrongRules, AreRefuted) { EXPECT_EQ(status_of(GetParam()), "refuted"); }
TEST_P(NeverProven, AreNotProven) {
  const std::string status = status_of(GetParam());
  EXPECT_TRUE(!status.starts_with("proven") && !status.starts_with("bounded")) << status;
}

INSTANTIATE_TEST_SUITE_P(
    Infinities, TrueRules,
    testing::Values(
        "max(?x, -inf) where is_float(?x) and same_type(out, ?x) => ?x",
        "min(?x, value(inf)) where is_float(?x) and same_type(out, ?x) => ?x",
        "max_pool{pads=?p, *c}(pad{before=?b, after=?a, mode=\"constant\", value=-inf}(?x))"
        " where ?b[0] == 0 and ?b[1] == 0 and ?a[0] == 0 and ?a[1] == 0 and is_float(?x)"
        " and all([for j < rank(?x): ?b[j] >= 0 and ?a[j] >= 0])"
        " and rank(?x) == 4"
        " => max_pool{*c, pads=?p + (part(?b, 2, rank(?x)) ++ part(?a, 2, rank(?x)))}(?x)",
        "causal_mask(causal_mask(?x)) => causal_mask(?x)",
        "add(causal_mask(?x), ?y) where same_type(?x, ?y) => causal_mask(add(?x, ?y))",
        "mul(causal_mask(?x), 2) where same_type(out, ?x) => causal_mask(mul(?x, 2))",
        "exp(causal_mask(?x)) where rank(?x) == 2 => exp(causal_mask(causal_mask(?x)))",
        "softmax{axis=1}(causal_mask(add(?x, ?y)))"
        " where rank(?x) == 2 and rank(?y) == 2 and dim(?y, 0) == dim(?x, 0) and dim(?y, 1) == 1"
        " => softmax{axis=1}(causal_mask(?x))"));

INSTANTIATE_TEST_SUITE_P(
    Infinities, WrongRules,
    testing::Values(
        "max_pool{pads=?p, *c}(pad{before=?b, after=?a, mode=\"constant\", value=-1.0}(?x))"
        " where ?b[0] == 0 and ?b[1] == 0 and ?a[0] == 0 and ?a[1] == 0 and is_float(?x)"
        " and rank(?x) == 4"
        " => max_pool{*c, pads=?p + (part(?b, 2, rank(?x)) ++ part(?a, 2, rank(?x)))}(?x)",
        "softmax{axis=1}(causal_mask(?x)) where rank(?x) == 2 => softmax{axis=1}(?x)",
        "softmax{axis=1}(causal_mask(add(?x, ?y)))"
        " where rank(?x) == 2 and rank(?y) == 2 and dim(?y, 1) == dim(?x, 1) and dim(?y, 0) == 1"
        " => softmax{axis=1}(causal_mask(?x))"));

// inf - inf and 0 * inf are no numbers: they must not cancel.
INSTANTIATE_TEST_SUITE_P(
    Infinities, NeverProven,
    testing::Values("max(?x, value(inf)) where is_float(?x) and same_type(out, ?x) => ?x",
                    "relu(?x) => sub(add(relu(?x), value(inf)), value(inf))",
                    "relu(?x) => add(relu(?x), mul(value(0.0), value(inf)))",
                    "causal_mask(?x) => causal_mask(mul(?x, -1))",
                    "mul(causal_mask(?x), -1) => causal_mask(mul(?x, -1))",
                    "relu(causal_mask(?x)) => relu(?x)"));

INSTANTIATE_TEST_SUITE_P(
    Signs, TrueRules,
    testing::Values(
        "sqrt(mul(?x, ?x)) where nonnegative(?x) and is_float(?x) => ?x",
        "abs(?x) where nonnegative(?x) and is_number(?x) => ?x",
        "relu(?x) where nonnegative(?x) => ?x",
        "relu(mul(?x, ?c)) where nonnegative(?c) => mul(relu(?x), ?c)",
        "max(mul(?x, ?c), mul(?y, ?c)) where nonnegative(?c) and is_float(?c)"
        " and same_type(?x, ?y) and same_type(?x, ?c) => mul(max(?x, ?y), ?c)",
        "relu(mul(?x, ?c)) where is_splat(?c) and positive(?c) and is_float(?c)"
        " and same_type(out, ?x) => mul(relu(?x), ?c)",
        "mul(div(?y, ?x), ?x) where positive(?x) and is_float(?x) and same_type(?x, ?y) => ?y",
        "log(mul(?x, ?y)) where positive(?x) and positive(?y) => add(log(?x), log(?y))"));

INSTANTIATE_TEST_SUITE_P(
    Signs, WrongRules,
    testing::Values("sqrt(mul(?x, ?x)) where is_float(?x) => ?x",
                    "sqrt(mul(?x, ?y)) where nonnegative(?x) and same_type(?x, ?y) => ?x",
                    "relu(mul(?x, ?c)) where is_float(?c) => mul(relu(?x), ?c)",
                    "neg(?x) where positive(?x) and is_float(?x) => ?x",
                    "log(add(?x, ?y)) where positive(?x) and positive(?y)"
                    " => add(log(?x), log(?y))"));

INSTANTIATE_TEST_SUITE_P(
    Pads, TrueRules,
    testing::Values("pad{before=[?b], after=[?a], mode=\"constant\", value=?v}(?x)"
                    " where rank(?x) == 1 and ?b <= 0 and ?a <= 0 and ?b + ?a + dim(?x, 0) >= 1"
                    " => slice{axis=0, start=0 - ?b, size=dim(?x, 0) + ?b + ?a, step=1}(?x)",
                    "slice{axis=0, start=0, size=?n, step=?s}("
                    "pad{before=[0], after=[0], interior=[?i], mode=\"constant\", value=?v}(?x))"
                    " where rank(?x) == 1 and ?s == ?i + 1 and ?n == dim(?x, 0) => ?x"));

INSTANTIATE_TEST_SUITE_P(
    Pads, WrongRules,
    testing::Values(
        "pad{before=[?b], after=[?a], mode=\"constant\", value=?v}("
        "pad{before=[?d], after=[?c], mode=\"constant\", value=?v}(?x))"
        " => pad{before=[?b + ?d], after=[?a + ?c], mode=\"constant\", value=?v}(?x)",
        "pad{before=[?b], after=[?a], mode=\"constant\", value=?v}(?x)"
        " where rank(?x) == 1 and ?b + ?a == 0 => ?x",
        "avg_pool{pads=?p, count_include_pad=1, *c}("
        "pad{before=?b, after=?a, mode=\"constant\", value=0.0}(?x))"
        " where rank(?x) == 3 and ?b[0] == 0 and ?b[1] == 0 and ?a[0] == 0 and ?a[1] == 0"
        " => avg_pool{*c, count_include_pad=1,"
        " pads=?p + (part(?b, 2, rank(?x)) ++ part(?a, 2, rank(?x)))}(?x)"));

INSTANTIATE_TEST_SUITE_P(
    Powers, TrueRules,
    testing::Values("div(?x, pow(?y, ?z)) where is_float(?x) => mul(?x, pow(?y, neg(?z)))",
                    "abs(pow(abs(?x), ?y)) where is_float(?x) => pow(abs(?x), ?y)",
                    "log(sqrt(?x)) => mul(log(?x), 0.5)", "log(rsqrt(?x)) => mul(log(?x), -0.5)",
                    "pow(exp(?x), ?y) => exp(mul(?x, ?y))",
                    "rsqrt(pow(abs(?x), -2)) where same_type(out, ?x) => abs(?x)",
                    "rsqrt(div(1, ?x)) where same_type(out, ?x) => sqrt(?x)",
                    "mul(rsqrt(?x), rsqrt(?x)) => div(1, ?x)",
                    "mul(div(?x, ?y), ?y) where is_float(?x) and same_type(?x, ?y) => ?x"));

INSTANTIATE_TEST_SUITE_P(
    Powers, WrongRules,
    testing::Values("log(sqrt(?x)) => log(?x)", "pow(exp(?x), ?y) => exp(add(?x, ?y))",
                    "rsqrt(pow(?x, -2)) where same_type(out, ?x) and is_float(?x) => ?x",
                    "mul(div(?x, ?y), ?y) where not is_float(?x) and same_type(?x, ?y)"
                    " and is_number(?x) => ?x"));

INSTANTIATE_TEST_SUITE_P(
    Powers, NeverProven,
    testing::Values("div(?x, pow(?y, ?z)) where is_number(?x) => mul(?x, pow(?y, neg(?z)))",
                    "add(?x, ?y) where dtype(?x) == \"i64\" and dtype(?y) == \"i64\""
                    " => add(add(?x, ?y), sub(div(1, pow(2, ?y)), div(1, pow(2, ?y))))",
                    "mul(pow(?x, -1), ?x) where is_number(?x) and same_type(out, ?x)"
                    " => fill{shape=shape(?x), value=1.0, dtype=dtype(?x)}()",
                    "abs(?x) where is_float(?x) => mul(mul(?x, abs(?x)), div(1, ?x))"));

INSTANTIATE_TEST_SUITE_P(
    Integers, TrueRules,
    testing::Values("mod{fmod=1}(mod{fmod=1}(?x, ?y), ?y) => mod{fmod=1}(?x, ?y)",
                    "bit_and(?x, 0) => fill{shape=shape(out), value=0.0, dtype=dtype(?x)}()",
                    "bit_or(?x, 0) where same_type(out, ?x) => ?x", "bit_not(bit_not(?x)) => ?x",
                    "bit_xor(?x, ?x) => fill{shape=shape(?x), value=0.0, dtype=dtype(?x)}()",
                    "bit_and(?x, ?y) => bit_and(?y, ?x)",
                    "less(?x, 0) where dtype(?x) == \"u8\" or dtype(?x) == \"u32\""
                    " => fill{shape=shape(out), value=0.0, dtype=\"bool\"}()",
                    "abs(?x) where dtype(?x) == \"u8\" => ?x",
                    "max(?x, value(-2147483648.0)) where dtype(?x) == \"i32\" => ?x",
                    "mod{fmod=1}(?x, ?c) where is_splat(?c) and same_type(out, ?x)"
                    " and dtype(?x) == \"u8\" and splat_of(?c) == 4 => bit_and(?x, value(3.0))",
                    "cast{to=?t}(add(cast{to=?u}(?x), cast{to=?u}(?y)))"
                    " where dtype(?x) == ?t and dtype(?y) == ?t"
                    " and ((?t == \"i8\" and ?u == \"i32\") or (?t == \"u8\" and ?u == \"u32\"))"
                    " => add(?x, ?y)"));

// Numbers that a rule computes from open integers.
INSTANTIATE_TEST_SUITE_P(
    OpenIntegers, TrueRules,
    testing::Values("and(less(?x, ?c), less(?x, ?d)) where is_splat(?c) and is_splat(?d)"
                    " and (dtype(?x) == \"i32\" or dtype(?x) == \"i64\")"
                    " => less(?x, value(min(splat_of(?c), splat_of(?d))))",
                    "max(?l, min(max(?x, ?l), ?h)) where is_splat(?l) and is_splat(?h)"
                    " and splat_of(?l) <= splat_of(?h) and same_type(out, ?x) and is_number(?x)"
                    " => min(max(?x, ?l), ?h)"));

INSTANTIATE_TEST_SUITE_P(
    OpenIntegers, WrongRules,
    testing::Values("and(less(?x, ?c), less(?x, ?d)) where is_splat(?c) and is_splat(?d)"
                    " and (dtype(?x) == \"i32\" or dtype(?x) == \"i64\")"
                    " => less(?x, value(max(splat_of(?c), splat_of(?d))))",
                    "add(?x, ?c) where is_splat(?c) and dtype(?x) == \"i32\" and rank(?c) == 0"
                    " => add(?x, value(if(splat_of(?c) == 4, 5.0, splat_of(?c))))"));

// A literal that is one of the stand-ins of the verifier.
INSTANTIATE_TEST_SUITE_P(OpenIntegers, NeverProven,
                         testing::Values("add(?x, ?c) where is_splat(?c) and dtype(?x) == \"i32\""
                                         " => add(?x, value(97.0))",
                                         "add(?x, ?c) where is_splat(?c) and dtype(?x) == \"i32\""
                                         " => add(?x, value(101.0))"));

// Indices as numbers, and elements as indices.
INSTANTIATE_TEST_SUITE_P(
    Indices, TrueRules,
    testing::Values("abs(iota{size=?n, start=0.0, step=1.0, dtype=?t}())"
                    " => iota{size=?n, start=0.0, step=1.0, dtype=?t}()",
                    "abs(?c) where is_splat(?c) and splat_of(?c) >= 0 and is_number(?c) => ?c",
                    "add(scatter_nd{reduction=\"add\"}(?x, ?i, ?u), ?y)"
                    " where same_type(?x, ?y) and is_float(?x)"
                    " => scatter_nd{reduction=\"add\"}(add(?x, ?y), ?i, ?u)"));

INSTANTIATE_TEST_SUITE_P(
    Indices, WrongRules,
    testing::Values("abs(iota{size=?n, start=-1.0, step=1.0, dtype=?t}())"
                    " => iota{size=?n, start=-1.0, step=1.0, dtype=?t}()",
                    "abs(?c) where is_splat(?c) and splat_of(?c) >= -1 and is_number(?c) => ?c"));

INSTANTIATE_TEST_SUITE_P(
    Integers, WrongRules,
    testing::Values("mod{fmod=1}(mod{fmod=1}(?x, ?y), ?z) => mod{fmod=1}(?x, ?z)",
                    "bit_or(?x, 0) => fill{shape=shape(out), value=0.0, dtype=dtype(?x)}()",
                    "bit_and(?x, ?x) => fill{shape=shape(?x), value=0.0, dtype=dtype(?x)}()",
                    "less(?x, 0) where dtype(?x) == \"i8\" or dtype(?x) == \"u32\""
                    " => fill{shape=shape(out), value=0.0, dtype=\"bool\"}()",
                    "abs(?x) where dtype(?x) == \"i8\" => ?x"));

// The quotient and the remainder by a power of two, from those of the magnitude.
INSTANTIATE_TEST_SUITE_P(
    SignedQuotients, TrueRules,
    testing::Values(
        "div(?x, 8) where dtype(?x) == \"i64\" and same_type(?x, out)"
        " let q = cast{to=\"i64\"}(bit_shift{direction=\"RIGHT\"}("
        "cast{to=\"u64\"}(where(less(?x, 0), neg(?x), ?x)), value(3.0)))"
        " => out = where(less(?x, 0), neg(q), q)",
        "mod{fmod=1}(?x, 8) where dtype(?x) == \"i64\" and same_type(?x, out)"
        " let r = bit_and(where(less(?x, 0), neg(?x), ?x), value(7.0))"
        " => out = where(less(?x, 0), neg(r), r)",
        "div(neg(?x), ?y) where dtype(?x) == \"i64\" => neg(div(?x, ?y))",
        "mod{fmod=1}(iota{size=?n, start=0.0, step=1.0, dtype=?t}(), ?c)"
        " where is_splat(?c) and rank(?c) == 0 and splat_of(?c) >= ?n and not is_float(?c)"
        " and is_number(?c) => iota{size=?n, start=0.0, step=1.0, dtype=?t}()"));
INSTANTIATE_TEST_SUITE_P(
    SignedQuotients, WrongRules,
    testing::Values(
        "div(?x, 2) where dtype(?x) == \"u8\" and same_type(?x, out)"
        " => bit_shift{direction=\"RIGHT\"}(?x, value(2.0))",
        "div(?x, 2) where dtype(?x) == \"i64\" and same_type(?x, out)"
        " let q = cast{to=\"i64\"}(bit_shift{direction=\"RIGHT\"}("
        "cast{to=\"u64\"}(where(less(?x, 0), neg(?x), ?x)), value(1.0))) => out = q",
        "mod{fmod=1}(?x, 8) where dtype(?x) == \"i64\" and same_type(?x, out)"
        " => bit_and(?x, value(7.0))",
        "div(add(?x, 1), ?y) where dtype(?x) == \"i64\" => add(div(?x, ?y), 1)",
        "mod{fmod=1}(iota{size=?n, start=0.0, step=1.0, dtype=?t}(), ?c)"
        " where is_splat(?c) and rank(?c) == 0 and splat_of(?c) + 1 >= ?n and not is_float(?c)"
        " and is_number(?c) => iota{size=?n, start=0.0, step=1.0, dtype=?t}()",
        "mod{fmod=1}(add(iota{size=?n, start=0.0, step=1.0, dtype=?t}(), ?c), ?c)"
        " where is_splat(?c) and rank(?c) <= 1 and ?t == \"i64\""
        " => mod{fmod=1}(iota{size=?n, start=0.0, step=1.0, dtype=?t}(), ?c)"));

// Only multiples of 1 + interior are read.
INSTANTIATE_TEST_SUITE_P(
    InnerPads, TrueRules,
    testing::Values("conv{dilations=[?d], *c}(?x, pad{before=[0, 0, 0], after=[0, 0, 0],"
                    " interior=[0, 0, ?i], mode=\"constant\", value=0.0}(?w)) where rank(?x) == 3"
                    " => conv{*c, dilations=[?d * (?i + 1)]}(?x, ?w)",
                    "pad{before=[?b], after=[?a], interior=[?i], mode=\"constant\", value=?v}(?x)"
                    " where rank(?x) == 1 and dim(?x, 0) == 1"
                    " => pad{before=[?b], after=[?a], mode=\"constant\", value=?v}(?x)"));
INSTANTIATE_TEST_SUITE_P(
    InnerPads, WrongRules,
    testing::Values(
        "conv{dilations=[?d], *c}(?x, pad{before=[0, 0, 0], after=[0, 0, 0],"
        " interior=[0, 0, ?i], mode=\"constant\", value=0.0}(?w)) where rank(?x) == 3"
        " => conv{*c, dilations=[?d + ?i]}(?x, ?w)",
        "pad{before=[?b], after=[?a], interior=[?i], mode=\"constant\", value=?v}(?x)"
        " where rank(?x) == 1 and dim(?x, 0) == 1"
        " => pad{before=[?b + ?i], after=[?a - ?i], mode=\"constant\", value=?v}(?x)",
        "conv{dilations=[?d], *c}(?x, pad{before=[0, 0, 0], after=[0, 0, 0],"
        " interior=[0, 0, ?i], mode=\"constant\", value=0.0}(?w)) where rank(?x) == 3 and"
        " dim(?w, 2) == 1 => conv{*c, dilations=[?d]}(?x, mul(?w, value(2.0)))"));

// Sums of i8 wrap around; those of i32 do not.
INSTANTIATE_TEST_SUITE_P(
    Integers, NeverProven,
    testing::Values("max(?x, value(-2147483648.0)) where dtype(?x) == \"i64\" => ?x",
                    "cast{to=?u}(add(?x, ?y)) where dtype(?x) == \"i8\" and dtype(?y) == \"i8\""
                    " and ?u == \"i32\" => add(cast{to=?u}(?x), cast{to=?u}(?y))"));

// A channel's group of two is half of its group: o div 2n is (o div n) div 2.
constexpr std::string_view kGroupsInPairs =
    "conv{group=?g, pads=[0, 0], strides=[1], dilations=[1]}(?x, ?w)"
    " let ?h = ?g / 2"
    " let ?o = dim(?w, 0) / ?g"
    " where ?g == 2 * ?h and dim(?w, 0) == ?g * ?o"
    " let e = eye{rows=2, columns=2, dtype=dtype(?w)}()"
    " let a = reshape{shape=[dim(?w, 0), 1, 1]}(broadcast{shape=[?h, 2, ?o]}("
    "   reshape{shape=[2, 1]}(slice{axis=0, start=0, size=1, step=1}(e))))"
    " let b = reshape{shape=[dim(?w, 0), 1, 1]}(broadcast{shape=[?h, 2, ?o]}("
    "   reshape{shape=[2, 1]}(slice{axis=0, start=1, size=1, step=1}(e))))"
    " => conv{group=?h, pads=[0, 0], strides=[1], dilations=[1]}(?x, ";

// The kernel of a mean of a convolution: u = r + i, where another read gives r = u - (k - 1) + j.
constexpr std::string_view kMeanOfConv =
    "avg_pool{kernel=?k, pads=[0, 0], dilations=[1], strides=?t, count_include_pad=1}("
    "  conv{strides=[1], dilations=[1], group=1, pads=[0, 0]}(?x, ?w))"
    " where is_float(?x) and rank(?x) == 3"
    " => conv{pads=[0, 0], strides=?t, dilations=[1], group=1}(?x, avg_pool{kernel=?k,"
    "  pads=[?k[0] - 1, ?k[0] - 1], dilations=[1], strides=[1], count_include_pad=";

TEST(NestedQuotients, AreBoundedByEachOther) {
  const std::string begin(kGroupsInPairs);
  EXPECT_EQ(status_of(begin + "concat{axis=1}(mul(?w, a), mul(?w, b)))"), "proven");
  EXPECT_EQ(status_of(begin + "concat{axis=1}(mul(?w, b), mul(?w, a)))"), "refuted");
}

TEST(Bijections, SolveSumsOfTwoVariablesByAnotherEquation) {
  const std::string begin(kMeanOfConv);
  EXPECT_EQ(status_of(begin + "1}(?w))"), "proven");
  EXPECT_EQ(status_of(begin + "0}(?w))"), "refuted");  // the rim of the kernel counts less
}

}  // namespace
}  // namespace egret::rules

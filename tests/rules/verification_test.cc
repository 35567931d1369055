// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "base/stop.h"
#include "base/system/file.h"
#include "base/system/in_order.h"
#include "rules/language/rule_parser.h"
#include "rules/proving/condition_inference.h"
#include "rules/proving/record.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"
#include "tests/paths.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

Verdict verdict_of(const Rule& rule, int instances = 60) {
  KnownOperators known;
  VerifyOptions options;
  options.instances = instances;
  options.tensor_checks = instances;
  return verify(rule, options, known);
}

void expect_proven(std::string_view selection) {
  const auto set = select_rules(selection);
  ASSERT_TRUE(set.ok()) << set.status().message();
  for (const Rule& rule : set->rules) {
    const Verdict verdict = verdict_of(rule);
    EXPECT_EQ(to_string(verdict.status), "proven") << rule.name << ": " << verdict.reason;
  }
}

TEST(Verification, ProvesThatPointwiseOperatorsPassMovesOfData) {
  expect_proven("transpose-of-relu,slice-of-relu,concat-of-relus,slice-of-sum,concat-of-sums");
}
TEST(Verification, GivesUpAfterSoManyQuestionsToTheSolver) {
  const auto set = select_rules("slice-of-first");
  ASSERT_TRUE(set.ok()) << set.status().message();
  KnownOperators known;
  const Verdict all = verify(set->rules.front(), {}, known);
  EXPECT_EQ(all.status, Verdict::Status::kProven);
  ASSERT_GT(all.solver.queries, 0);
  const Verdict few = verify(set->rules.front(), {.most_queries = 0}, known);
  EXPECT_EQ(few.status, Verdict::Status::kUndecided);
  EXPECT_EQ(few.reason, "more questions to the solver than tried");
}
TEST(Verification, ProvesLawsOfTransposes) {
  expect_proven("transpose-of-matmul,matmul-of-transposes,transpose-of-concat,transpose-of-slice");
}
TEST(Verification, ProvesLawsOfSlicesAndConcatenations) {
  expect_proven("slice-of-slice,slice-of-first,slice-of-second,concat-of-adjacent-slices");
}
TEST(Verification, ProvesLawsOfProducts) {
  expect_proven(
      "matmul-associates,sum-of-matmuls,concat-of-matmuls-sharing-left,sum-of-matmuls-sharing-"
      "left");
}
TEST(Verification, ProvesLawsOfConvolutionsForAllStridesPadsAndDilations) {
  expect_proven(
      "sum-of-convs-sharing-input,sum-of-convs,concat-of-convs-sharing-input,scale-channels");
}
TEST(Verification, ProvesLawsOfPools) {
  expect_proven("max-pool-of-relu,concat-of-max-pools,drop-max-pool-of-one");
}

TEST(Verification, RefutesWithTensors) {
  const Verdict verdict = verdict_of(parsed("matmul(?a, ?b) => matmul(?b, ?a)"));
  EXPECT_EQ(to_string(verdict.status), "refuted");
  for (const char* part : {"?a: ", "?b = ", "left  out = ", "right out = "})
    EXPECT_NE(verdict.reason.find(part), std::string::npos) << verdict.reason;
}

// What random tensors miss must not be proven either: no tensors are tried here.
TEST(Verification, DoesNotProveWhatIsWrong) {
  constexpr std::string_view kWrong[] = {
      "matmul(?a, ?b) => matmul(?b, ?a)",
      "sub(?a, ?b) => sub(?b, ?a)",
      "relu(?x) => ?x",
      "relu(?x) => abs(?x)",
      "add(?x, ?y) where same_type(out, ?x) => ?x",
      "transpose{perm=?p}(transpose{perm=?q}(?x)) => transpose{perm=compose(?p, ?q)}(?x)",
      "transpose{*}(?x) => reshape{shape=shape(out)}(?x)",
      "slice{axis=?a, start=?b, size=?n, step=?s}(slice{axis=?a, start=?c, size=?m, step=?t}(?x)) "
      "=> slice{axis=?a, start=?b + ?c, size=?n, step=?s * ?t}(?x)",
      "concat{axis=?a}(?x, ?y) => concat{axis=?a}(?y, ?x)",
      "reduce_max{*r}(neg(?x)) => neg(reduce_max{*r}(?x))",
      "max_pool{*p}(neg(?x)) => neg(max_pool{*p}(?x))",
      "concat{axis=1}(conv{*c}(?x, ?v), conv{*c}(?x, ?w)) => conv{*c}(?x, concat{axis=0}(?v, ?w))",
      "avg_pool{*p}(relu(?x)) => relu(avg_pool{*p}(?x))",
  };
  VerifyOptions options;
  options.tensor_checks = 0;
  options.instances = 200;
  options.bounded_members = 300;
  KnownOperators known;
  for (const std::string_view text : kWrong) {
    const Verdict verdict = verify(parsed(text), options, known);
    EXPECT_TRUE(verdict.status == Verdict::Status::kUndecided ||
                verdict.status == Verdict::Status::kRefuted)
        << text << "\n"
        << to_string(verdict.status);
  }
}

// Two windows of sizes k and l are one of size k + l - 1: no bijection joins the ranges.
constexpr std::string_view kWindows =
    "max_pool{kernel=[?k], strides=[1], pads=[0, 0], dilations=[1], *}("
    "max_pool{kernel=[?l], strides=[1], pads=[0, 0], dilations=[1], *}(?x))"
    " where dim(out, 2) == dim(?x, 2) - ?k - ?l + 2 => "
    "max_pool{kernel=[?k + ?l - 1], strides=[1], pads=[0, 0], dilations=[1]}(?x)";

TEST(Verification, ChecksAllMembersUpToABoundOfWhatItCannotProve) {
  KnownOperators known;
  VerifyOptions options;
  options.instances = 40;
  const Verdict open = verify(parsed(kWindows), options, known);
  EXPECT_EQ(to_string(open.status), "undecided");
  EXPECT_EQ(open.bound, 0);
  options.bounded_members = 500;
  const Verdict bounded = verify(parsed(kWindows), options, known);
  EXPECT_EQ(to_string(bounded.status), "bounded");
  EXPECT_GE(bounded.bound, 2);
  EXPECT_NE(bounded.reason.find("no match"), std::string::npos) << bounded.reason;
}

// relu of the left side of kWindows, and what the lemma makes of it.
std::string relu_of_windows(std::string_view size) {
  return "relu(max_pool{kernel=[?k], strides=[1], pads=[0, 0], dilations=[1], *}("
         "max_pool{kernel=[?l], strides=[1], pads=[0, 0], dilations=[1], *}(?x)))"
         " where dim(out, 2) == dim(?x, 2) - ?k - ?l + 2 => "
         "relu(max_pool{kernel=[" +
         std::string(size) + "], strides=[1], pads=[0, 0], dilations=[1]}(?x))";
}

TEST(Verification, DerivesFromLemmasWhatItCannotProveAlone) {
  KnownOperators known;
  VerifyOptions options;
  options.instances = 40;
  const Rule goal = parsed(relu_of_windows("?k + ?l - 1"));
  EXPECT_EQ(to_string(verify(goal, options, known).status), "undecided");
  const std::vector<Lemma> lemmas{{parsed(kWindows)}};
  options.lemmas = lemmas;
  const Verdict verdict = verify(goal, options, known);
  EXPECT_EQ(to_string(verdict.status), "proven") << verdict.reason;
  EXPECT_GT(verdict.derived, 0);
  bool shown = false;
  for (const std::string& proof : verdict.proofs)
    shown = shown || proof.find("left rewritten by test") != std::string::npos;
  EXPECT_TRUE(shown);
}

TEST(Verification, DoesNotDeriveARuleFromItself) {
  KnownOperators known;
  VerifyOptions options;
  options.instances = 40;
  const std::vector<Lemma> lemmas{{parsed(kWindows)}};
  options.lemmas = lemmas;
  EXPECT_EQ(to_string(verify(parsed(kWindows), options, known).status), "undecided");
}

TEST(Verification, DoesNotDeriveWhatIsWrong) {
  KnownOperators known;
  VerifyOptions options;
  options.instances = 40;
  options.tensor_checks = 0;
  const std::vector<Lemma> lemmas{{parsed(kWindows)}, {parsed("neg(neg(?x)) => ?x")}};
  options.lemmas = lemmas;
  const Verdict verdict = verify(
      parsed("neg(neg(max_pool{kernel=[?k], strides=[1], pads=[0, 0], dilations=[1], *}("
             "max_pool{kernel=[?l], strides=[1], pads=[0, 0], dilations=[1], *}(?x))))"
             " where dim(out, 2) == dim(?x, 2) - ?k - ?l + 2 => "
             "neg(max_pool{kernel=[?k + ?l - 1], strides=[1], pads=[0, 0], dilations=[1]}(?x))"),
      options, known);
  EXPECT_EQ(to_string(verdict.status), "undecided");
}

// Two grouped convolutions are one only where there is one group, which lemmas show; random
// instances with several groups are rare.
TEST(Verification, DoesNotTakeAPartOfAFamilyForTheWhole) {
  const auto set = select_rules("all");
  ASSERT_TRUE(set.ok());
  std::vector<Lemma> lemmas;
  for (const Rule& rule : set->rules) lemmas.push_back({rule});
  KnownOperators known;
  VerifyOptions options;
  options.lemmas = lemmas;
  const Verdict verdict =
      verify(parsed("p = conv{*c, group=?g}(?x, ?v)\n q = conv{*c, group=?h}(?y, ?w)\n"
                    "out = add(p, q)\n where same_type(p, q) and rank(?x) == 4\n"
                    "let ?groups = (dim(?x, 1) + dim(?y, 1)) / (dim(?v, 1) + dim(?w, 1))\n"
                    "=> out = conv{*c, group=?groups}(concat{axis=1}(?x, ?y), "
                    "concat{axis=1}(?v, ?w))"),
             options, known);
  EXPECT_EQ(to_string(verdict.status), "refuted");
}

void expect_refuted(const std::string& text, VerifyOptions options = {}) {
  KnownOperators known;
  const Rule rule = parsed(text);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    options.seed = seed;
    EXPECT_EQ(to_string(verify(rule, options, known).status), "refuted") << text << " " << seed;
  }
}

// Wrong where two operands have one axis fewer than the others and one element each: random
// instances hardly ever show it.
TEST(Verification, LooksAtSmallInstancesOfAllRanks) {
  expect_refuted(
      "concat{axis=?axis}(add(?m0, ?m1), add(?w0, ?w1)) => "
      "add(concat{axis=?axis}(?m0, ?w0), concat{axis=?axis}(?m1, ?w1))");
}

// Each is wrong for few instances, where sizes of operands of other ranks, the axis and the start
// of a slice, or strides and kernels, happen to fit.
TEST(Verification, LooksForInstancesThatNeedSeveralNumbersToBeRight) {
  for (const char* text : {"mul(slice{axis=?axis, size=?size, start=?start}(?m), ?s) => "
                           "slice{axis=?axis, size=?size, start=?start}(mul(?m, ?s))",
                           "slice{axis=?axis, size=?size, start=?start}(mul(?m, ?s)) => "
                           "mul(slice{axis=?axis, size=?size, start=?start}(?m), ?s)",
                           "add(conv{*c, group=?g}(?x, ?k), conv{*c, group=?g}(?x, ?l)) => "
                           "conv{*c, group=?g}(?x, add(?k, ?l))"}) {
    expect_refuted(text);
  }
}

// Diagonal matrices, or not: wrong for one row and two columns.
TEST(Verification, LooksAtAllSizesThatNoOperandGives) {
  expect_refuted(
      "matmul(mul(?v, eye{columns=?c, dtype=?d, rows=?r}()), mul(?w, eye{columns=?c, dtype=?d, "
      "rows=?r}())) where rank(?v) == 2 and rank(?w) == 2 and ?c == dim(?v, 0) and "
      "?c == dim(?w, 0) => mul(?w, mul(?v, eye{columns=?c, dtype=?d, rows=?r}()))");
}

// Of operands of four axes the result has the type of the left side where sizes that have nothing
// to do with each other are 1 and 2: all are looked at, so that no seed matters.
TEST(Verification, LooksAtAllSmallTensorsOfManyAxes) {
  VerifyOptions thorough;
  thorough.small_effort = 1'000'000;
  for (const char* text : {"matmul(?m, add(?v, ?w)) where same_type(?v, ?w) => "
                           "matmul(concat{axis=1}(?m, ?m), concat{axis=0}(?v, ?w))",
                           "matmul(concat{axis=?axis}(?m0, ?m0), concat{axis=?axis2}(?w0, ?w1)) => "
                           "matmul(?m0, add(?w0, ?w1))",
                           "matmul(concat{axis=?axis}(?m0, ?m1), concat{axis=?axis2}(?w0, ?w0)) => "
                           "matmul(add(?m0, ?m1), ?w0)"}) {
    expect_refuted(text, thorough);
  }
}

// The lemma turns the right side into the left one, and holds wherever the right one is defined.
TEST(Verification, DoesNotDeriveWhatIsUndefined) {
  KnownOperators known;
  VerifyOptions options;
  options.instances = 40;
  options.tensor_checks = 0;
  const std::vector<Lemma> lemmas{{parsed("sub(log(?x), log(?x)) => sub(?x, ?x)")}};
  EXPECT_EQ(to_string(verify(lemmas.front().rule, options, known).status), "proven");
  options.lemmas = lemmas;
  const Verdict verdict = verify(parsed("sub(?x, ?x) => sub(log(?x), log(?x))"), options, known);
  EXPECT_EQ(to_string(verdict.status), "undecided");
}

// Of rules that are wrong where several numbers happen to be right at once.
TEST(Verification, RefutesWhatIsWrongForFewInstances) {
  const std::string folder = std::string(EGRET_SOURCE_DIR) + "/tests/verifier/data/";
  KnownOperators known;
  for (const auto& [file, count] :
       {std::pair("mistakes.rules", 14u), {"unusual.rules", 6u}, {"thresholds.rules", 62u}}) {
    const auto mistakes = select_rules(folder + file);
    ASSERT_TRUE(mistakes.ok()) << mistakes.status().message();
    EXPECT_GE(mistakes->rules.size(), count);
    for (const Rule& rule : mistakes->rules) {
      const Verdict verdict = verify(rule, {}, known);
      EXPECT_EQ(to_string(verdict.status), "refuted") << rule.name << ": " << verdict.reason;
    }
  }
}

// Slices of these sizes that have elements are of longer tensors than are drawn.
TEST(Verification, SaysNothingOfNoElements) {
  KnownOperators known;
  const Verdict verdict =
      verify(parsed("slice{axis=0, start=?s, size=?n, step=1}(pad{before=[?b], after=[?a], "
                    "mode=\"constant\", value=0.0}(?x)) where rank(?x) == 1 and is_float(?x) and "
                    "?s >= ?b and ?s + ?n <= ?b + dim(?x, 0) "
                    "=> slice{axis=0, start=?n + ?s, size=?a, step=1}(?x)"),
             {}, known);
  EXPECT_TRUE(verdict.status == Verdict::Status::kVacuous ||
              verdict.status == Verdict::Status::kRefuted)
      << to_string(verdict.status);
}

// No tensor is looked at: a member that is wrong is found by its proof.
TEST(Verification, FindsTheMemberThatIsWrongUpToABound) {
  KnownOperators known;
  VerifyOptions options;
  options.instances = 40;
  options.tensor_checks = 0;
  options.bounded_members = 500;
  const Verdict verdict =
      verify(parsed("reduce_max{axes=[?a], keepdims=?k}(concat{axis=?a}(?x, ?y)) => "
                    "max(reduce_max{axes=[?a], keepdims=?k}(?x), "
                    "reduce_min{axes=[?a], keepdims=?k}(?y))"),
             options, known);
  EXPECT_EQ(to_string(verdict.status), "undecided");
  EXPECT_NE(verdict.reason.find("member by member"), std::string::npos) << verdict.reason;
}

TEST(Verification, RejectsContradictoryConditions) {
  for (const char* text : {"relu(?x) where dim(?x, 0) == 2 and dim(?x, 0) == 3 => abs(?x)",
                           "leaky_relu{alpha=?a}(?x) where ?a > 1 and ?a < 0 => ?x",
                           "matmul(?x, ?y) where dim(?x, -1) != dim(?y, -2) and rank(?x) == 2 and "
                           "rank(?y) == 2 => matmul(?y, ?x)"})
    EXPECT_EQ(to_string(verdict_of(parsed(text), 5).status), "vacuous") << text;
}

TEST(Verification, RejectsRulesThatSayNothing) {
  EXPECT_EQ(to_string(verdict_of(parsed("relu(?x) => relu(?x)")).status), "trivial");
  EXPECT_EQ(
      to_string(verdict_of(parsed("relu(?x) where rank(?x) == 1 and rank(?x) == 2 => abs(?x)"), 5)
                    .status),
      "vacuous");
}

TEST(Verification, TreatsOpenRealsAsUnknown) {
  expect_proven("batch-norm-as-scale,drop-pad,hard-swish-from-hard-sigmoid");
  // True for one slope, not for all.
  const Verdict wrong = verdict_of(
      parsed("leaky_relu{alpha=?a}(leaky_relu{alpha=?a}(?x)) => leaky_relu{alpha=?a}(?x)"));
  EXPECT_EQ(to_string(wrong.status), "refuted");
}

TEST(Verification, ProvesLawsOfPiecewiseFunctions) {
  expect_proven("clip-of-clip,relu-of-clip,leaky-relu-from-max,softplus-from-parts,square-of-abs");
}
TEST(Verification, UnderstandsNumbersThatRulesCompute) {
  expect_proven("mean-as-sum,attention-scale-from-query,gather-of-one");
  const std::string_view compose =
      "leaky_relu{alpha=?a}(leaky_relu{alpha=?b}(?x)) where is_float(?x)";
  const std::string positive = std::string(compose) + " and ?a >= 0 and ?b >= 0";
  const std::string target = " => leaky_relu{alpha=?a * ?b}(?x)";
  EXPECT_EQ(to_string(verdict_of(parsed(positive + target)).status), "proven");
  EXPECT_EQ(to_string(verdict_of(parsed(std::string(compose) + target)).status), "refuted");
}
TEST(Verification, FollowsIndicesThroughReshapes) {
  expect_proven("reshape-of-concat,sum-of-reshapes,reduce-mean-of-reshape,global-max-pool");
}
// The whole set: verify_rules tests/verifier/data/hard.rules.
TEST(Verification, ProvesWhatIsHard) {
  const auto set = select_rules(std::string(EGRET_SOURCE_DIR) + "/tests/verifier/data/hard.rules");
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_GE(set->rules.size(), 80U);
  for (const char* name :
       {"identity-right", "contraction-concatenated", "contraction-sliced", "tile-of-tile",
        "softmax-by-parts", "exp-of-log-softmax", "slice-of-reverse", "concat-of-joined",
        "sum-over-joined", "gather-of-gather", "einsum-associates", "running-sum-inclusive",
        "leaky-relus-compose", "attention-by-queries"}) {
    const auto rule = std::ranges::find(set->rules, name, &Rule::name);
    ASSERT_NE(rule, set->rules.end()) << name;
    const Verdict verdict = verdict_of(*rule, 30);
    EXPECT_EQ(to_string(verdict.status), "proven") << name << ": " << verdict.reason;
  }
}

TEST(Verification, ReadsConstantsOfRoundedRulesAsWhatTheyRound) {
  expect_proven("gelu-from-product,hard-sigmoid-alpha");
  VerifyOptions options;
  options.tensor_checks = 0;
  options.instances = 20;
  KnownOperators known;
  // The same without the tag, and another constant with it.
  const Rule exact = parsed(
      "hard_sigmoid{alpha=?a, beta=0.5}(?x) where ?a == 0.16666666666666666 => "
      "hard_sigmoid{alpha=0.1666666716337204, beta=0.5}(?x)");
  EXPECT_EQ(to_string(verify(exact, options, known).status), "undecided");
  const Rule other = parsed(
      "[rounding] hard_sigmoid{alpha=?a, beta=0.5}(?x) where ?a == 0.16666666666666666 => "
      "hard_sigmoid{alpha=0.1667, beta=0.5}(?x)");
  EXPECT_EQ(to_string(verify(other, options, known).status), "undecided");
}

// Equal where both sides are numbers, but the target is not one everywhere.
TEST(Verification, DemandsThatTargetsAreDefinedWhereSourcesAre) {
  VerifyOptions options;
  options.tensor_checks = 0;
  options.instances = 20;
  KnownOperators known;
  for (const char* text : {"neg(?x) where is_float(?x) => neg(mul(?x, div(?x, ?x)))",
                           "abs(?x) where is_float(?x) => abs(mul(sqrt(?x), sqrt(?x)))",
                           "neg(?x) where is_float(?x) => neg(log(exp(log(exp(log(exp(?x)))))))",
                           "add(?x, ?y) where same_type(?x, ?y) and is_float(?x) => "
                           "log(mul(exp(?x), exp(?y)))"}) {
    const Verdict verdict = verify(parsed(text), options, known);
    const bool total = std::string_view(text).find("log") != std::string_view::npos;
    EXPECT_EQ(to_string(verdict.status), total ? "proven" : "undecided") << text;
    if (!total) {
      EXPECT_NE(verdict.reason.find("undefined"), std::string::npos) << verdict.reason;
    }
  }
}

TEST(Verification, KeepsProofsUntilDefinitionsChange) {
  const Rule rule = parsed("relu(relu(?x)) => relu(?x)");
  RuleStatuses statuses;
  const Verdict verdict = verdict_of(rule);
  ASSERT_EQ(to_string(verdict.status), "proven");
  record(statuses, rule, verdict);
  EXPECT_EQ(statuses.of(rule), RuleStatus::kProven);
  const auto again = parse_statuses(statuses.to_json());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->of(rule), RuleStatus::kProven);
  EXPECT_EQ(again->to_json(), statuses.to_json());
  EXPECT_TRUE(again->voided().empty());

  const Rule other = parsed("neg(neg(?x)) where is_float(?x) => ?x");
  record(statuses, other, verdict_of(other));
  std::string old = statuses.to_json();
  const std::string key = "\"relu\": \"";
  ASSERT_NE(old.find(key), std::string::npos) << old;
  old.replace(old.find(key) + key.size(), 4, "0000");
  const auto voided = parse_statuses(old);
  ASSERT_TRUE(voided.ok());
  EXPECT_EQ(voided->of(rule), RuleStatus::kUntested);
  EXPECT_EQ(voided->of(other), RuleStatus::kProven) << "rests on neg alone";
  EXPECT_EQ(voided->voided().size(), 1U);
}

TEST(Verification, DecidesNothingOnceItIsToStop) {
  const Rule rule = parsed("relu(relu(?x)) => relu(?x)");
  base::request_stop(SIGTERM);
  const Verdict stopped = verdict_of(rule);
  base::request_stop(0);
  EXPECT_EQ(to_string(stopped.status), "undecided");
  EXPECT_EQ(stopped.reason, "stopped");
  EXPECT_EQ(to_string(verdict_of(rule).status), "proven");
}

TEST(Verification, OfTheRulesThatComeWithEgretIsOfTheseDefinitions) {
  for (const std::string_view json : builtin_rule_statuses()) {
    const auto statuses = parse_statuses(json);
    ASSERT_TRUE(statuses.ok());
    EXPECT_GT(statuses->size(), 0U);
    EXPECT_THAT(statuses->voided(), testing::IsEmpty())
        << "run verify_rules all rules/data/status.json";
  }
}

TEST(Verification, ProvedEveryRuleThatComesWithEgret) {
  const auto set = select_rules("all");
  const auto statuses = builtin_statuses();
  ASSERT_TRUE(set.ok() && statuses.ok());
  const base::Status status = require_status(*set, *statuses, RuleStatus::kProven);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Verification, KeepsNothingOfRulesThatAreGone) {
  const auto set = select_rules("all");
  auto statuses = builtin_statuses();
  ASSERT_TRUE(set.ok() && statuses.ok());
  EXPECT_LE(statuses->size(), set->rules.size()) << "run: verify_rules all rules/data/status.json";
  RuleSet two;
  two.rules.assign(set->rules.begin(), set->rules.begin() + 2);
  statuses->keep_only(two);
  EXPECT_EQ(statuses->size(), 2);
  EXPECT_EQ(statuses->of(two.rules[1]), RuleStatus::kProven);
}

TEST(Verification, FindsTheWeakestConditionOfARefutedRule) {
  const Rule rule = parsed(
      "concat{axis=1}(conv{*c, group=1}(?x, ?v), conv{*c, group=1}(?y, ?w)) where rank(?x) == 4 "
      "let ?g = (dim(?x, 1) + dim(?y, 1)) / dim(?v, 1) "
      "=> conv{*c, group=?g}(concat{axis=1}(?x, ?y), concat{axis=0}(?v, ?w))");
  EXPECT_EQ(to_string(verdict_of(rule).status), "refuted");
  VerifyOptions options;
  options.instances = 60;
  KnownOperators known;
  const auto found = infer_condition(rule, options, known);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->text, "dim(?v, 0) == dim(?w, 0)");
  EXPECT_EQ(to_string(found->verdict.status), "proven") << found->verdict.reason;
  EXPECT_GT(found->outside, 0);
  // Small windows that read nothing but padding may be equal; hardly any other.
  EXPECT_LE(found->outside_equal * 20, found->outside);
}

TEST(Verification, DoesNotFindAConditionWhereNoneHelps) {
  KnownOperators known;
  EXPECT_FALSE(infer_condition(parsed("relu(?x) => abs(?x)"), {}, known).has_value());
}

TEST(Verification, DoesNotDependOnRulesSeenBefore) {
  const Rule rule = parsed(
      "concat{axis=0}(mul(?a, ?b), mul(?c, ?d)) where same_type(?a, ?b) and "
      "same_type(?c, ?d) => mul(concat{axis=0}(?a, ?c), concat{axis=0}(?b, ?d))");
  VerifyOptions options;
  options.instances = 40;
  KnownOperators fresh;
  const Verdict alone = verify(rule, options, fresh);
  KnownOperators used;
  verify(parsed("relu(matmul(?a, ?b)) => relu(matmul(?a, identity(?b)))"), options, used);
  const Verdict after = verify(rule, options, used);
  EXPECT_EQ(to_string(alone.status), "proven");
  EXPECT_EQ(alone.proofs, after.proofs);
}

// The rules among the indented blocks of docs/verification.md.
TEST(Verification, ProvesTheExamplesOfItsPage) {
  const auto page =
      base::read_file(std::string(EGRET_SOURCE_DIR) + "/docs/verification.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.status().message();
  std::istringstream lines(*page);
  std::string rules;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    inside = line.starts_with("    rule ") || (inside && line.starts_with("    "));
    if (inside) rules += line.substr(4) + "\n";
  }
  const auto parsed_rules = parse_rules("verification.md", rules);
  ASSERT_TRUE(parsed_rules.ok()) << parsed_rules.status().message();
  EXPECT_GE(parsed_rules->size(), 2U);
  for (const Rule& rule : *parsed_rules) {
    const Verdict verdict = verdict_of(rule);
    EXPECT_EQ(to_string(verdict.status), "proven") << rule.name << ": " << verdict.reason;
  }
}

TEST(Verification, DoesNotDependOnTheNumberOfThreads) {
  const auto set = select_rules("transpose-of-*,slice-of-*,drop-pad,sum-of-convs");
  ASSERT_TRUE(set.ok());
  VerifyOptions options;
  options.instances = options.tensor_checks = 20;
  std::vector<std::vector<Verdict>> runs;
  for (const std::size_t threads : {1U, 3U}) {
    base::ThreadPool pool(threads);
    KnownOperators known;
    base::in_order<Verdict>(
        pool, set->rules.size(),
        [&](std::size_t i) { return std::optional(verify(set->rules[i], options, known)); },
        [&, verdicts = &runs.emplace_back()](std::size_t, Verdict verdict) {
          verdicts->push_back(std::move(verdict));
        });
  }
  ASSERT_EQ(runs[0].size(), runs[1].size());
  for (std::size_t i = 0; i < runs[0].size(); ++i) {
    EXPECT_EQ(runs[0][i].proofs, runs[1][i].proofs) << set->rules[i].name;
    EXPECT_EQ(runs[0][i].solver.most_work, runs[1][i].solver.most_work) << set->rules[i].name;
  }
}

TEST(Verification, HasWhatNeededASolverConfirmedByAnother) {
  if (!has_second_solver()) GTEST_SKIP() << "built without cvc5";
  const auto set = select_rules("clip-of-relu,sqrt-of-pow,shift-channels,reshape-of-concat");
  ASSERT_TRUE(set.ok());
  VerifyOptions options;
  options.instances = options.tensor_checks = 30;
  options.second_opinion = options.keep_queries = true;
  KnownOperators known;
  verifier::SolverStatistics all;
  for (const Rule& rule : set->rules) {
    const Verdict verdict = verify(rule, options, known);
    EXPECT_EQ(to_string(verdict.status), "proven") << rule.name << ": " << verdict.reason;
    EXPECT_EQ(std::ssize(verdict.queries), verdict.solver.queries);
    add(all, verdict.solver);
  }
  EXPECT_GT(all.contradictions, 0);
  EXPECT_EQ(all.confirmed, all.contradictions);
}

TEST(Verification, RepeatsItself) {
  const auto set = select_rules("sum-of-convs");
  ASSERT_TRUE(set.ok());
  const Verdict first = verdict_of(set->rules[0], 30);
  const Verdict second = verdict_of(set->rules[0], 30);
  EXPECT_EQ(first.proofs, second.proofs);
  EXPECT_EQ(first.solver.queries, second.solver.queries);
  EXPECT_EQ(first.solver.most_work, second.solver.most_work);
}

}  // namespace
}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
// Rules about tensors without elements: no sizes of at least 1 satisfy their conditions.
#include <gtest/gtest.h>

#include <string>

#include "rules/proving/instance_search.h"
#include "rules/proving/record.h"
#include "rules/proving/verification.h"
#include "rules/testing/tester.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

Verdict verdict_of(const std::string& text) {
  KnownOperators known;
  return verify(parsed(text), {.small_effort = 20'000}, known);
}

constexpr const char* kTrue[] = {
    "concat{axis=?a}(?x, ?y) where dim(?y, ?a) == 0 => ?x",
    "reduce_sum{*}(?x) where elements(?x) == 0 and rank(?x) <= 2 => "
    "fill{shape=shape(out), value=0.0, dtype=dtype(?x)}()",
    "matmul(?a, ?b) where dim(?a, -1) == 0 and rank(?a) == 2 and rank(?b) == 2 => "
    "fill{shape=shape(out), value=0.0, dtype=dtype(?a)}()",
    "reshape{*}(?x) where elements(?x) == 0 and rank(?x) == 2 and rank(out) == 2 => "
    "fill{shape=shape(out), value=7.0, dtype=dtype(?x)}()",
};
constexpr const char* kFalse[] = {
    "concat{axis=?a}(?x, ?y) where dim(?y, ?a) == 0 and is_float(?x) => neg(?x)",
    "reduce_sum{*}(?x) where elements(?x) == 0 => "
    "fill{shape=shape(out), value=1.0, dtype=dtype(?x)}()",
    // Wrong where the other axis has more than 500 elements.
    "concat{axis=0}(?x, ?y) where rank(?x) == 1 and dim(?y, 0) == 0 and is_float(?x) => "
    "mul(?x, value(if(dim(?x, 0) > 500, 2.0, 1.0)))",
};

TEST(EmptyTensors, AreTheSubjectOfRulesThatNoOtherSizesSatisfy) {
  for (const char* text : kTrue) {
    const Verdict verdict = verdict_of(text);
    EXPECT_EQ(to_string(verdict.status), "proven") << text << "\n" << verdict.reason;
    EXPECT_TRUE(verdict.of_empty) << text;
    EXPECT_EQ(verdict.cover.open, "") << text;
    EXPECT_TRUE(limit_of(verdict).of_empty) << text;
  }
  for (const char* text : kFalse) EXPECT_EQ(to_string(verdict_of(text).status), "refuted") << text;
}

TEST(EmptyTensors, AreNotTriedWhereOtherSizesExist) {
  const Verdict verdict = verdict_of("relu(relu(?x)) => relu(?x)");
  EXPECT_EQ(to_string(verdict.status), "proven");
  EXPECT_FALSE(verdict.of_empty);
  EXPECT_FALSE(verdict_of("relu(?x) where dim(?x, 0) == 2 and dim(?x, 0) == 3 => ?x").of_empty);
}

TEST(EmptyTensors, AreTested) {
  KnownOperators known;
  const auto report_of = [&](const char* text) {
    return test_rule(parsed(text),
                     {.checks = 200, .attempts_per_check = 100, .solved = solved_instances}, known);
  };
  for (const char* text : kTrue) {
    const TestReport report = report_of(text);
    EXPECT_EQ(to_string(report.verdict), "tested") << text << "\n" << report.reason;
    EXPECT_TRUE(report.of_empty) << text;
  }
  EXPECT_EQ(to_string(report_of(kFalse[0]).verdict), "refuted");
  EXPECT_EQ(to_string(report_of(kFalse[1]).verdict), "refuted");
  EXPECT_EQ(to_string(report_of("relu(?x) where rank(?x) == 1 and rank(?x) == 2 => ?x").verdict),
            "untestable");
}

}  // namespace
}  // namespace egret::rules

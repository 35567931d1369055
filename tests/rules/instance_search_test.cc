// SPDX-License-Identifier: Apache-2.0
// Instances of rules whose conditions random numbers do not meet.
#include "rules/proving/instance_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "rules/proving/verification.h"
#include "rules/tensors/rule_set.h"
#include "rules/testing/tester.h"
#include "tests/paths.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

using testing::HasSubstr;

struct Searched {
  explicit Searched(const std::string& text) : rule(parsed(text)) {}
  Rule rule;
  KnownOperators known;
  Instantiator instantiator{rule, known};
  InstanceSearch search{instantiator, base::Random(1)};
};

TEST(InstanceSearch, FindsInstancesOfCoupledConditions) {
  Searched on(
      "matmul(?x, ?w) where rank(?x) == 2 and rank(?w) == 2 and dim(?w, 0) % 8 == 0 and dim(?w, 0) "
      ">= 16 and dim(?x, 0) == 3 * dim(?w, 1) + 100 => matmul(?x, ?w)");
  std::set<std::string> texts;
  for (int i = 0; i < 20; ++i) {
    const auto instance = on.search.next();
    ASSERT_TRUE(instance) << i;
    std::vector<std::int64_t> sizes;
    for (const auto& [slot, type] : instance->choice.variables) {
      for (const ir::Index& dim : type.dims) sizes.push_back(dim.constant());
    }
    ASSERT_EQ(sizes.size(), 4U);
    EXPECT_EQ(sizes[1] % 8, 0);
    EXPECT_GE(sizes[1], 16);
    EXPECT_EQ(sizes[0], 3 * sizes[3] + 100);
    texts.insert(instance->text);
  }
  EXPECT_EQ(texts.size(), 20U);  // each is new
}

TEST(InstanceSearch, IsTheSameEachTime) {
  const std::string text = "relu(?x) where dim(?x, 0) >= 9 => ?x";
  Searched a(text);
  Searched b(text);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a.search.next()->text, b.search.next()->text);
}

struct WithoutInstances {
  const char* rule;
  bool certain;
  const char* reason;
};

// Names the conditions that exclude each other, and no others.
TEST(InstanceSearch, SaysWhichConditionsCannotBeMet) {
  for (const WithoutInstances& one : {
           WithoutInstances{"relu(?x) where rank(?x) == 2 and dim(?x, 0) >= 5 and dim(?x, 1) == 3 "
                            "and dim(?x, 0) < 3 => relu(?x)",
                            true, "satisfy dim(?x, 0) >= 5 and dim(?x, 0) < 3 ("},
           WithoutInstances{"relu(?x) where rank(?x) == 1 and dim(?x, 0) % 4 == 1 and "
                            "dim(?x, 0) % 6 == 2 => relu(?x)",
                            true, "satisfy dim(?x, 0) % 4 == 1 and dim(?x, 0) % 6 == 2 ("},
           WithoutInstances{"relu(?x) where rank(?x) == 1 and is_float(?x) and rank(?x) == 2 => ?x",
                            true,
                            "ranks and element types satisfy rank(?x) == 1 and rank(?x) == 2"},
           WithoutInstances{"leaky_relu{alpha=?a}(?x) where ?a > 1 and ?a < 0 => ?x", true,
                            "no number satisfies ?a > 1 and ?a < 0"},
           // Not decided: the operator, and not the condition, refuses the rank.
           WithoutInstances{"matmul(?x, ?y) where rank(?x) == 1 => matmul(?y, ?x)", false,
                            "no operands were found that the sources accept where rank(?x) == 1"},
           // Not decided: the square root of 5 is not among the numbers that are drawn.
           WithoutInstances{"leaky_relu{alpha=?a}(?x) where ?a * ?a == 5 => ?x", false,
                            "no instance was found with ?a * ?a == 5"},
           WithoutInstances{"transpose{perm=[1, 0]}(?x) where dim(?x, 0) > dim(?x, 1) => ?x", true,
                            "satisfy dim(?x, 0) > dim(?x, 1)"},
       }) {
    Searched on(one.rule);
    EXPECT_FALSE(on.search.next()) << one.rule;
    const InstanceSource::None none = on.search.none();
    EXPECT_EQ(none.certain, one.certain) << one.rule;
    EXPECT_THAT(none.reason, HasSubstr(one.reason));
  }
}

TEST(InstanceSearch, DrawsRealsNearTheNumbersOfConditions) {
  KnownOperators known;
  const Verdict verdict = verify(
      parsed("leaky_relu{alpha=?a}(?x) where ?a > 100 => leaky_relu{alpha=?a}(neg(neg(?x)))"), {},
      known);
  EXPECT_EQ(to_string(verdict.status), "proven");
}

// True rules whose conditions ask for large, divisible, equal or coupled sizes.
RuleSet large_conditions() {
  auto set =
      select_rules(std::string(EGRET_SOURCE_DIR) + "/tests/verifier/data/large_conditions.rules");
  EXPECT_TRUE(set.ok()) << set.status().message();
  return *std::move(set);
}

TEST(LargeConditions, AreProvenWithoutALimit) {
  KnownOperators known;
  const RuleSet set = large_conditions();
  EXPECT_GE(set.rules.size(), 40U);
  for (const Rule& rule : set.rules) {
    const Verdict verdict = verify(rule, {}, known);
    EXPECT_EQ(to_string(verdict.status), "proven") << rule.name << ": " << verdict.reason;
    EXPECT_EQ(verdict.cover.open, "") << rule.name;
  }
}

TEST(LargeConditions, AreTested) {
  KnownOperators known;
  TestOptions options;
  options.checks = 100;
  options.solved = solved_instances;
  for (const Rule& rule : large_conditions().rules) {
    const TestReport report = test_rule(rule, options, known);
    EXPECT_EQ(to_string(report.verdict), "tested") << rule.name << ": " << report.reason;
  }
}

// The same rules with one size changed are wrong, and only instances of large sizes show it.
TEST(LargeConditions, AreRefutedWhereWrong) {
  KnownOperators known;
  TestOptions options;
  options.checks = 100;
  options.solved = solved_instances;
  for (const char* text :
       {"matmul(?x, ?w) where rank(?x) == 2 and rank(?w) == 2 and dim(?w, 0) > 64 => "
        "matmul(slice{axis=1, start=0, size=64, step=1}(?x), slice{axis=0, start=0, size=64, "
        "step=1}(?w))",
        "reduce_sum{axes=[1]}(?x) where rank(?x) == 2 and dim(?x, 1) % 64 == 0 => "
        "reduce_sum{axes=[1]}(slice{axis=1, start=1, size=dim(?x, 1) - 1, step=1}(?x))",
        "reduce_max{axes=[0]}(?x) where rank(?x) == 1 and dim(?x, 0) >= 10 => "
        "max(reduce_max{axes=[0]}(slice{axis=0, start=0, size=5, step=1}(?x)), "
        "reduce_max{axes=[0]}(slice{axis=0, start=6, size=dim(?x, 0) - 6, step=1}(?x)))"}) {
    const Rule rule = parsed(text);
    EXPECT_EQ(to_string(verify(rule, {}, known).status), "refuted") << text;
    EXPECT_EQ(to_string(test_rule(rule, options, known).verdict), "refuted") << text;
  }
}

}  // namespace
}  // namespace egret::rules

// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instance_conditions.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rules/tensors/binding.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

ir::TensorType f32(std::initializer_list<std::int64_t> sizes) {
  ir::TensorType type{ir::DType::kF32, {}};
  for (const std::int64_t size : sizes) type.dims.emplace_back(size);
  return type;
}

// A rule, and what is known of one of its instances so far.
struct Conditions {
  explicit Conditions(const std::string& text)
      : rule(parsed(text)), environment(make_environment(rule)), found(rule) {}

  int attribute(const std::string& name) const {
    return static_cast<int>(std::ranges::find(rule.attributes, name) - rule.attributes.begin());
  }
  int tensor(const std::string& name) const {
    return static_cast<int>(std::ranges::find(rule.tensors, name) - rule.tensors.begin());
  }
  void know(const std::string& name, std::int64_t value) {
    environment.attributes[static_cast<std::size_t>(attribute(name))] = value;
  }
  void know(const std::string& name, const ir::TensorType& type) {
    facts = {type, true, std::nullopt};
    environment.tensors[static_cast<std::size_t>(tensor(name))] = {&facts, 0};
  }

  const Rule rule;
  Environment environment;
  InstanceConditions found;
  TensorFacts facts{};
};

constexpr const char* kHalf =
    "slice{axis=?a, size=?n, start=?s, step=1}(?x) where ?n * 2 == dim(?x, ?a) and ?s < ?n => "
    "slice{axis=?a, size=?n, start=?s, step=1}(?x)";

TEST(InstanceConditions, SolveLinearEquationsForAnAttribute) {
  Conditions half(kHalf);
  EXPECT_EQ(half.found.solve_for(half.attribute("n"), half.environment), std::nullopt);
  half.know("?x", f32({3, 6}));
  half.know("a", 1);
  EXPECT_EQ(half.found.solve_for(half.attribute("n"), half.environment), 3);
  half.know("a", 0);  // of 3 there is no half
  EXPECT_EQ(half.found.solve_for(half.attribute("n"), half.environment), std::nullopt);
  EXPECT_EQ(half.found.solve_for(half.attribute("s"), half.environment), std::nullopt);
}

TEST(InstanceConditions, LeaveEquationsThatAreNotLinear) {
  Conditions square(
      "slice{axis=0, size=?n, start=0, step=1}(?x) where ?n * ?n == dim(?x, 0) => "
      "slice{axis=0, size=?n, start=0, step=1}(?x)");
  square.know("?x", f32({16}));
  EXPECT_EQ(square.found.solve_for(square.attribute("n"), square.environment), std::nullopt);
}

TEST(InstanceConditions, FitSizesToWhatIsKnown) {
  Conditions half(kHalf);
  half.know("n", 5);
  half.know("a", 1);
  ir::TensorType type = f32({2, 3});
  half.found.fit(half.tensor("?x"), type, half.environment);
  EXPECT_EQ(type, f32({2, 10}));
  half.know("a", 2);  // no such axis
  half.found.fit(half.tensor("?x"), type, half.environment);
  EXPECT_EQ(type, f32({2, 10}));
}

TEST(InstanceConditions, GiveATensorTheTypeOfAnother) {
  Conditions same("add(?x, ?y) where same_type(?x, ?y) => add(?y, ?x)");
  same.know("?x", f32({4, 2}));
  ir::TensorType type = f32({7});
  same.found.fit(same.tensor("?y"), type, same.environment);
  EXPECT_EQ(type, f32({4, 2}));
}

TEST(InstanceConditions, FailOnlyByWhatIsKnown) {
  Conditions half(kHalf);
  EXPECT_TRUE(half.found.can_fail());
  EXPECT_FALSE(half.found.fail(half.environment));
  half.know("n", 3);
  half.know("s", 2);
  EXPECT_FALSE(half.found.fail(half.environment));
  half.know("s", 3);
  EXPECT_TRUE(half.found.fail(half.environment));
}

TEST(InstanceConditions, KnowRanksAndSplats) {
  Conditions given("mul(?x, ?y) where rank(?x) == 2 and splat(?y, 0.5) => mul(?y, ?x)");
  EXPECT_EQ(given.found.rank_of(given.tensor("?x")), 2);
  EXPECT_EQ(given.found.rank_of(given.tensor("?y")), std::nullopt);
  ASSERT_TRUE(given.found.splat_of(given.tensor("?y")));
  EXPECT_EQ(given.found.splat_of(given.tensor("?y"))->number, 0.5);
  EXPECT_FALSE(given.found.splat_of(given.tensor("?x")));
  // What tensors hold is not known before they are drawn.
  Conditions any("mul(?x, ?y) where is_splat(?y) => mul(?y, ?x)");
  EXPECT_FALSE(any.found.can_fail());
  ASSERT_TRUE(any.found.splat_of(any.tensor("?y")));
  EXPECT_EQ(any.found.splat_of(any.tensor("?y"))->number, std::nullopt);
}

}  // namespace
}  // namespace egret::rules

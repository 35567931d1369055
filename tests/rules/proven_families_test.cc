// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/proven_families.h"

#include <gtest/gtest.h>

#include "tests/rules/some_instance.h"

namespace egret::rules {
namespace {

TEST(ProvenFamilies, ContainTheInstancesOfWhichAFamilyWasMade) {
  RuleWithInstance some("matmul(?x, add(?a, ?b)) => add(matmul(?x, ?a), matmul(?x, ?b))");
  ProvenFamilies proven;
  std::size_t members = 0;
  std::size_t opened = 0;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    const auto instance = some.instantiator.attempt(base::Random(2).split(i));
    if (!instance) continue;
    const Numbers numbers = numbers_of(some.rule, *instance);
    if (proven.contain(numbers)) {
      ++members;
      continue;
    }
    const auto family = generalize(some.rule, *instance);
    ASSERT_TRUE(family.ok()) << family.status().message();
    proven.add(*family);
    ++opened;
    EXPECT_TRUE(proven.contain(numbers)) << instance->text;
    Numbers otherwise = numbers;
    otherwise.structure += " else";
    EXPECT_FALSE(proven.contain(otherwise));
    Numbers unknown = numbers;
    unknown.integers.clear();
    EXPECT_FALSE(proven.contain(unknown));
  }
  EXPECT_GT(members, opened);
  EXPECT_GT(opened, 1U);
}

}  // namespace
}  // namespace egret::rules

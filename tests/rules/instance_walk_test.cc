// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/instance_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/rules/some_instance.h"

namespace egret::rules {
namespace {

TEST(InstanceWalk, ReachesWhatOneChangeAtATimeLeadsTo) {
  RuleWithInstance some(
      "slice{axis=0, start=?a, size=?n, step=?s}(?x) where rank(?x) == 1 and ?n >= 1 => "
      "slice{axis=0, start=?a, size=?n, step=?s}(?x)");
  InstanceWalk walk(some.instantiator, some.instance.choice);
  std::int64_t most = 0;  // elements of the input
  for (std::uint64_t i = 0; i < 2000; ++i) {
    if (const auto next = walk.step(base::Random(2).split(i)))
      most = std::max(most, next->left.node(next->left.inputs()[0]).type.dims[0].constant());
  }
  EXPECT_GE(most, 6);  // random instances have sizes of at most 4
  EXPECT_LE(most, 8);
}

// Sizes of one number change together, those that an operator has for want of operands too.
TEST(InstanceWalk, ChangesAllSizesOfOneNumber) {
  RuleWithInstance some(
      "add(?x, eye{columns=?n, dtype=?d, rows=?n}()) where ?n == dim(?x, 0) and ?n == dim(?x, 1) "
      "and rank(?x) == 2 => add(?x, eye{columns=?n, dtype=?d, rows=?n}())");
  InstanceWalk walk(some.instantiator, some.instance.choice);
  std::set<std::int64_t> sizes;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    if (const auto next = walk.step(base::Random(2).split(i)))
      sizes.insert(next->left.node(next->left.inputs()[0]).type.dims[0].constant());
  }
  EXPECT_GE(sizes.size(), 6);
}

}  // namespace
}  // namespace egret::rules

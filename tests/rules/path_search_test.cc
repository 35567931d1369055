// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/path_search.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/rules/some_instance.h"

namespace egret::rules {
namespace {

// All that can be told apart about how two tensors of one axis are broadcast.
TEST(PathSearch, FindsAllWaysToBroadcast) {
  RuleWithInstance some("add(?x, ?y) where rank(?x) == 1 and rank(?y) == 1 => add(?y, ?x)");
  PathSearch paths(some.rule, some.instance, {}, base::Random(1));
  paths.start_from(some.instance.choice);
  std::set<std::string> ways;
  const auto note = [&](const Choice& choice) {
    const auto size = [&](int slot) { return choice.variables.at(slot).dims[0].constant(); };
    const std::int64_t x = size(choice.variables.begin()->first);
    const std::int64_t y = size(choice.variables.rbegin()->first);
    ways.insert(x == y ? "equal" : (x == 1 ? "x is repeated" : "y is repeated"));
  };
  note(some.instance.choice);
  while (const auto choice = paths.next()) {
    ASSERT_TRUE(some.instantiator.of(*choice, base::Random(1)));
    note(*choice);
  }
  EXPECT_EQ(ways, (std::set<std::string>{"equal", "x is repeated", "y is repeated"}));
}

// Slices of both operands are one only where start, size and the second operand's size are right at
// once.
TEST(PathSearch, GoesOnFromRunsWhoseTypesDoNotFit) {
  RuleWithInstance some(
      "slice{axis=0, size=?n, start=?s}(add(?x, ?y)) where rank(?x) == 1 and rank(?y) == 2 and "
      "?n >= 1 => add(slice{axis=0, size=?n, start=?s}(?x), ?y)");
  PathSearch paths(some.rule, some.instance, {}, base::Random(1));
  paths.start_from(some.instance.choice);
  bool wrong = false;  // the second operand has one row, and the first more than one element
  while (const auto choice = paths.next()) {
    const auto instance = some.instantiator.of(*choice, base::Random(1));
    if (!instance) continue;
    const auto& x = choice->variables.begin()->second;
    wrong = wrong || x.dims[0].constant() > 1;
  }
  EXPECT_TRUE(wrong);
}

TEST(PathSearch, StopsAtItsLimits) {
  RuleWithInstance some("add(?x, add(?y, ?z)) => add(add(?x, ?y), ?z)");
  const auto count = [&](PathSearch::Limits limits) {
    PathSearch paths(some.rule, some.instance, limits, base::Random(1));
    paths.start_from(some.instance.choice);
    int found = 0;
    for (; paths.next(); ++found) paths.was_new();
    return found;
  };
  EXPECT_EQ(count({.runs = 1, .idle = 100}), 0);
  EXPECT_LE(count({.runs = 10, .idle = 100}), 9);
  EXPECT_GT(count({.runs = 100, .idle = 100}), count({.runs = 10, .idle = 100}));
}

}  // namespace
}  // namespace egret::rules

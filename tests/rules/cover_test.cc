// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/cover.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/rules/some_instance.h"

namespace egret::rules {
namespace {

struct CoverOfRule : RuleWithInstance {
  explicit CoverOfRule(const std::string& text, Cover::Limits limits = {})
      : RuleWithInstance(text), cover(rule, instance, session, limits) {
    cover.run(instance.choice);
  }

  verifier::SolverSession session;
  Cover cover;
};

std::int64_t size(const Choice& choice, bool last = false) {
  const auto& type = last ? choice.variables.rbegin()->second : choice.variables.begin()->second;
  return type.dims[0].constant();
}

// All outcomes of a broadcast along one axis, and no more.
TEST(Cover, FindsAllPathsOfABroadcast) {
  CoverOfRule some("add(?x, ?y) where rank(?x) == 1 and rank(?y) == 1 => add(?y, ?x)");
  std::set<std::string> ways;
  const auto note = [&](const Choice& choice) {
    const std::int64_t x = size(choice);
    const std::int64_t y = size(choice, true);
    ways.insert(x == y ? "equal" : (x == 1 ? "x is repeated" : "y is repeated"));
  };
  note(some.instance.choice);
  while (const auto choice = some.cover.next()) note(*choice);
  EXPECT_EQ(ways, (std::set<std::string>{"equal", "x is repeated", "y is repeated"}));
  EXPECT_EQ(some.cover.open(), "");
  EXPECT_EQ(some.cover.tree().leaves(), 4U);  // one of them: the types do not fit
}

// No random instance has a size of a million, and the solver knows that none is between.
TEST(Cover, FindsSizesBeyondAnyThreshold) {
  CoverOfRule some(
      "slice{axis=0, start=0, size=?n, step=1}(?x) where rank(?x) == 1 "
      "=> slice{axis=0, start=0, size=if(?n > 1000000, ?n, if(?n > 1000001, 0, ?n)), step=1}(?x)");
  bool beyond = false;
  while (const auto choice = some.cover.next()) beyond = beyond || size(*choice) > 1000000;
  EXPECT_TRUE(beyond);
  EXPECT_EQ(some.cover.open(), "");
}

// Three sizes that must fit together, the smallest that do.
TEST(Cover, FindsCoupledSizes) {
  CoverOfRule some(
      "matmul(?x, ?w) where rank(?x) == 2 and rank(?w) == 2 "
      "=> matmul(slice{axis=1, start=0, step=1, "
      "size=if(dim(?w, 0) == dim(?x, 0) * 7 + dim(?w, 1), dim(?w, 0), dim(?x, 1))}(?x), ?w)");
  bool found = false;
  while (const auto choice = some.cover.next()) {
    const auto& x = choice->variables.begin()->second.dims;
    const auto& w = choice->variables.rbegin()->second.dims;
    found = found || w[0].constant() == x[0].constant() * 7 + w[1].constant();
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(some.cover.open(), "");
}

// An axis is one of the rank's, so its values end.
TEST(Cover, EndsWithTheAxesOfTheRank) {
  CoverOfRule some("reverse{axis=?a}(relu(?x)) where rank(?x) == 3 => relu(reverse{axis=?a}(?x))");
  int axes = 1;
  while (some.cover.next()) ++axes;
  EXPECT_EQ(axes, 3);
  EXPECT_EQ(some.cover.open(), "");
}

// A number that decides about structure without an end of its values stays open, and says so.
TEST(Cover, SaysThatItIsOpen) {
  CoverOfRule some("add(?x, ?y) => add(?y, ?x)", {.paths = 1});
  while (some.cover.next()) continue;
  EXPECT_EQ(some.cover.open(), "more paths than tried");
}

}  // namespace
}  // namespace egret::rules

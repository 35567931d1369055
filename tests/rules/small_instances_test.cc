// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/small_instances.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/rules/some_instance.h"

namespace egret::rules {
namespace {

constexpr std::size_t kEnough = 10'000'000;

std::string text_of(RuleWithInstance& some, const Choice& choice) {
  const auto instance = some.instantiator.of(choice, base::Random(1));
  return instance ? instance->text : "";
}

// The instances of at most two axes that are visited.
std::set<std::string> visited(RuleWithInstance& some) {
  const std::vector<Choice> examples{some.instance.choice};
  SmallInstances small(some.rule, some.instantiator, examples, kEnough);
  std::set<std::string> found;
  for (int axes = 0; axes <= 2; ++axes) {
    EXPECT_TRUE(small.visit_all(axes, [&](const Choice& choice) {
      found.insert(text_of(some, choice));
      return true;
    }));
  }
  found.erase("");
  return found;
}

// All combinations of shapes and of the attribute ?axis in all places where it stands.
std::set<std::string> tried_out(RuleWithInstance& some) {
  static const std::vector<ir::Dims> kShapes{{}, {1}, {2}, {1, 1}, {1, 2}, {2, 1}, {2, 2}};
  std::set<std::string> found;
  Choice choice = some.instance.choice;
  const auto try_axes = [&] {
    std::set<std::int64_t> axes{0, 1};
    for (const auto& [term, attrs] : some.instance.choice.attrs) {
      if (attrs.find("axis") != nullptr) axes.insert(attrs.integer("axis"));
    }
    for (const std::int64_t axis : axes) {
      for (auto& [term, attrs] : choice.attrs) {
        if (attrs.find("axis") != nullptr) attrs.set("axis", axis);
      }
      found.insert(text_of(some, choice));
    }
  };
  const auto try_shapes = [&](const auto& self, auto variable) -> void {
    if (variable == choice.variables.end()) return try_axes();
    for (const ir::Dims& shape : kShapes) {
      variable->second.dims = shape;
      self(self, std::next(variable));
    }
  };
  try_shapes(try_shapes, choice.variables.begin());
  found.erase("");
  return found;
}

TEST(SmallInstances, TriesSizesThatNoOperandGives) {
  RuleWithInstance some(
      "neg(eye{columns=?c, dtype=?d, rows=?r}()) => neg(eye{columns=?c, dtype=?d, rows=?r}())");
  const std::set<std::string> found = visited(some);
  EXPECT_TRUE(std::ranges::any_of(found, [](const std::string& text) {
    return text.find("?c = 2") != std::string::npos && text.find("?r = 1") != std::string::npos;
  }));
}

TEST(SmallInstances, AreAllThereAre) {
  for (const char* text :
       {"concat{axis=?axis}(add(?m, ?v), ?w) => concat{axis=?axis}(add(?v, ?m), ?w)",
        "add(softmax{axis=?axis}(?x), softmax{axis=?axis}(?y)) => "
        "add(softmax{axis=?axis}(?y), softmax{axis=?axis}(?x))",
        "matmul(?a, ?b) where rank(?a) == 2 => matmul(?a, ?b)", "relu(relu(?x)) => relu(?x)"}) {
    RuleWithInstance some(text);
    const auto found = visited(some);
    EXPECT_GT(found.size(), 2u) << text;
    EXPECT_EQ(found, tried_out(some)) << text;
  }
}

TEST(SmallInstances, AreLookedForNoLongerThanAllowed) {
  RuleWithInstance some("add(?x, add(?y, ?z)) => add(add(?x, ?y), ?z)");
  const std::vector<Choice> examples{some.instance.choice};
  const auto visits = [&](std::size_t effort) {
    SmallInstances small(some.rule, some.instantiator, examples, effort);
    int count = 0;
    const bool all = small.visit_all(2, [&](const Choice&) { return ++count > 0; });
    EXPECT_EQ(all, effort == kEnough);
    return count;
  };
  EXPECT_EQ(visits(0), 0);
  EXPECT_LE(visits(1000), 100);
  EXPECT_GT(visits(1000), 0);
  EXPECT_GT(visits(kEnough), 200);
}

TEST(SmallInstances, EndWhereTheVisitorEndsThem) {
  RuleWithInstance some("add(?x, ?y) => add(?y, ?x)");
  const std::vector<Choice> examples{some.instance.choice};
  SmallInstances small(some.rule, some.instantiator, examples, kEnough);
  int count = 0;
  EXPECT_FALSE(small.visit_all(2, [&](const Choice&) { return ++count < 3; }));
  EXPECT_EQ(count, 3);
}

}  // namespace
}  // namespace egret::rules

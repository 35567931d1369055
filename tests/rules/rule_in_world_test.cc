// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/rule_in_world.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"
#include "rules/generator/derivation.h"
#include "rules/language/rule_parser.h"

namespace egret::rules::generator {
namespace {

// The first half of two images one above the other, and the upper one: true where both have 2 rows.
ir::Graph half_of_two(std::int64_t rows, std::int64_t size) {
  ir::GraphBuilder b;
  const ir::Value upper = b.input("a", ir::TensorType(ir::DType::kF32, {rows, 3}));
  const ir::Value lower = b.input("b", ir::TensorType(ir::DType::kF32, {rows, 3}));
  const ir::Value both = b.add("concat", {upper, lower}, {{"axis", 0}});
  b.output("left", b.add("slice", {both}, {{"axis", 0}, {"start", 0}, {"size", size}}));
  b.output("right", upper);
  return *b.finish();
}

TEST(RuleInWorld, HoldsAtTheSizesItWasMadeAtAlone) {
  const std::vector<Rule> rules = rules_in_world(half_of_two(2, 2));
  ASSERT_EQ(rules.size(), 1U);  // of a variable nothing follows
  RuleSet set;
  set.rules = rules;
  EXPECT_TRUE(derives(set, half_of_two(2, 2), {}));
  EXPECT_FALSE(derives(set, half_of_two(3, 3), {}));
  EXPECT_FALSE(derives({}, half_of_two(2, 2), {}));
}

TEST(RuleInWorld, IsARuleThatCanBeWrittenAndRead) {
  const Rule rule = rules_in_world(half_of_two(2, 2)).front();
  const auto again = parse_rules("test", to_string(rule));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(content_hash(again->front()), content_hash(rule));
}

TEST(RuleInWorld, GoesWhereAllVariablesAreKnown) {
  ir::GraphBuilder b;
  const ir::TensorType type(ir::DType::kF32, {2});
  const ir::Value x = b.input("x", type);
  const ir::Value y = b.input("y", type);
  b.output("left", b.add("add", {x, y}));
  b.output("right", b.add("add", {y, x}));
  EXPECT_EQ(rules_in_world(*b.finish()).size(), 2U);
  ir::GraphBuilder c;
  const ir::Value only = c.input("x", type);
  const ir::Value other = c.input("y", type);
  c.output("left", c.add("sub", {only, only}));
  c.output("right", c.add("sub", {other, other}));
  EXPECT_TRUE(rules_in_world(*c.finish()).empty());
}

}  // namespace
}  // namespace egret::rules::generator

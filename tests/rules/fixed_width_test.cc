// SPDX-License-Identifier: Apache-2.0
// What holds of integers without bounds is not done to those that tensors hold.
#include "rules/tensors/fixed_width.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"
#include "rules/tensors/compile.h"
#include "rules/tensors/saturate.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Value;

// Whether the rule does anything to what `define` makes of inputs of such a type.
template <typename Define>
bool applies(std::string_view rule, DType type, const Define& define,
             Integers integers = Integers::kOfFixedWidth) {
  GraphBuilder b;
  const ir::TensorType matrix(type, {3, 3});
  b.output("y", define(b, b.input("x", matrix), b.input("z", matrix)));
  const auto tensors = TensorEGraph::from_graph(*std::move(b).finish());
  const egraph::EGraph& egraph = (*tensors)->egraph();
  const std::pair before(egraph.node_count(), egraph.class_count());
  const std::vector<Rule> rules{parsed(rule)};
  (void)saturate(**tensors, compile(rules, **tensors, integers));
  return before != std::pair(egraph.node_count(), egraph.class_count());
}

const auto kSquareOf = [](GraphBuilder& b, Value x, Value) {
  return b.add("relu", {b.add("mul", {x, x})});
};
const auto kLargerSum = [](GraphBuilder& b, Value x, Value z) {
  return b.add("max", {b.add("add", {x, z}), x});
};

TEST(FixedWidth, RefusesWhatWrapsAndCompares) {
  // -21 squared is 441, and -71 in 8 bits.
  constexpr std::string_view kSquare = "relu(mul(?x, ?x)) => mul(?x, ?x)";
  constexpr std::string_view kSum = "max(add(?x, ?z), ?x) => add(?x, max(?z, 0))";
  EXPECT_TRUE(applies(kSquare, DType::kF32, kSquareOf));
  EXPECT_TRUE(applies(kSum, DType::kF32, kLargerSum));
  for (const DType type : {DType::kI8, DType::kI32, DType::kI64}) {
    EXPECT_FALSE(applies(kSquare, type, kSquareOf)) << to_string(type);
    EXPECT_FALSE(applies(kSum, type, kLargerSum)) << to_string(type);
    EXPECT_TRUE(applies(kSquare, type, kSquareOf, Integers::kWithoutBounds)) << to_string(type);
  }
}

TEST(FixedWidth, TakesWhatDoesOneOfThem) {
  for (const DType type : {DType::kF32, DType::kI8, DType::kU8, DType::kI64}) {
    EXPECT_TRUE(applies("add(mul(?x, ?z), mul(?x, ?x)) => mul(?x, add(?z, ?x))", type,
                        [](GraphBuilder& b, Value x, Value z) {
                          return b.add("add", {b.add("mul", {x, z}), b.add("mul", {x, x})});
                        }))
        << to_string(type);
    EXPECT_TRUE(applies("max(?x, max(?x, ?z)) => max(?x, ?z)", type,
                        [](GraphBuilder& b, Value x, Value z) {
                          return b.add("max", {x, b.add("max", {x, z})});
                        }))
        << to_string(type);
    EXPECT_TRUE(applies("transpose{perm=[1, 0]}(transpose{perm=[1, 0]}(?x)) => ?x", type,
                        [](GraphBuilder& b, Value x, Value) {
                          const ir::Attrs turn{{"perm", ir::Integers{1, 0}}};
                          return b.add("transpose", {b.add("transpose", {x}, turn)}, turn);
                        }))
        << to_string(type);
  }
}

// Numbers of rows are integers, and what is computed of the rows is not.
TEST(FixedWidth, LeavesRealsToTheirRules) {
  EXPECT_TRUE(applies(
      "relu(gather{axis=0}(add(?x, ?z), ?i)) => gather{axis=0}(relu(add(?x, ?z)), ?i)", DType::kF32,
      [](GraphBuilder& b, Value x, Value z) {
        const Value rows = b.input("rows", {DType::kI64, {2}});
        return b.add("relu",
                     {b.add("gather", {b.add("add", {x, z}), rows}, {{"axis", std::int64_t{0}}})});
      }));
}

}  // namespace
}  // namespace egret::rules

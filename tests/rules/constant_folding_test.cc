// SPDX-License-Identifier: Apache-2.0
// Which operators decide, and that folding decides as running the model would.
#include "rules/constant_folding.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/interpreter.h"
#include "rules/jumps.h"

namespace egret::rules {
namespace {

using ir::Attrs;
using ir::DType;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

constexpr DType kF32 = DType::kF32;

bool jumps(const char* op, std::vector<TensorType> types, const Attrs& attrs = {}) {
  const auto canonical = canonical_attrs(ir::get_operator(op).attrs(), attrs);
  EXPECT_TRUE(canonical.ok()) << canonical.status().message();
  return has_jumps(ir::get_operator(op), *canonical, types);
}

TEST(HasJumps, SeesRoundingComparingAndCastingOfReals) {
  const TensorType x(kF32, {2, 3});
  EXPECT_TRUE(jumps("floor", {x}));
  EXPECT_TRUE(jumps("round", {x}));
  EXPECT_TRUE(jumps("less", {x, x}));
  EXPECT_TRUE(jumps("cast", {x}, {{"to", std::string("i32")}}));
  EXPECT_TRUE(jumps("arg_max", {x}, {{"axis", 1}}));
}

TEST(HasJumps, SeesThemInBodies) {
  const TensorType x(kF32, {2, 3});
  EXPECT_TRUE(jumps("quantize_linear", {x, {kF32, {}}}, {{"to", std::string("u8")}}));
  EXPECT_FALSE(jumps("gelu", {x}));
}

TEST(HasJumps, LeavesOutWhatIsSmoothOrHasNoReals) {
  const TensorType x(kF32, {2, 3});
  const TensorType n(DType::kI32, {2, 3});
  EXPECT_FALSE(jumps("relu", {x}));
  EXPECT_FALSE(jumps("matmul", {x, {kF32, {3, 4}}}));
  EXPECT_FALSE(jumps("transpose", {x}, {{"perm", ir::Integers{1, 0}}}));
  EXPECT_FALSE(jumps("where", {{DType::kBool, {2, 3}}, x, x}));
  EXPECT_FALSE(jumps("less", {n, n}));
  EXPECT_FALSE(jumps("cast", {n}, {{"to", std::string("f32")}}));
}

// -2.5 / (5 / 255) is -127.5, which rounds to -128; in f32 it is a little more.
TEST(FoldConstants, DecidesAsTheModelWouldRun) {
  ir::GraphBuilder b;
  const Value scale = b.add("div", {b.scalar(kF32, 5), b.scalar(kF32, 255)});
  const Value ratio = b.add("div", {b.scalar(kF32, -2.5), scale});
  b.output("rounded", b.add("round", {ratio}));
  b.output("ratio", ratio);
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto folded = fold_constants(*graph);
  ASSERT_TRUE(folded.ok()) << folded.status().message();
  EXPECT_EQ(folded->operator_count(), 0U);

  const ir::InterpretOptions as_run{.precision = ir::Precision::kF32};
  const auto run = ir::interpret(*graph, {}, as_run);
  const auto after = ir::interpret(*folded, {}, as_run);
  ASSERT_TRUE(run.ok() && after.ok());
  EXPECT_EQ(run->at(0).f64_at(0), -127);
  EXPECT_EQ(after->at(0).f64_at(0), -127);
  EXPECT_EQ(after->at(1).f64_at(0), -127.5);  // nothing is decided here: rounded once
}

}  // namespace
}  // namespace egret::rules

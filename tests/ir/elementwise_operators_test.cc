// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/ir/operator_types.h"

namespace egret::ir {
namespace {

const TensorType kMatrix{DType::kF32, {4, 5}};
const TensorType kRow{DType::kF32, {5}};
const TensorType kMask{DType::kBool, {4, 1}};
const TensorType kBytes{DType::kU8, {4, 5}};

TEST(ElementwiseOperators, BroadcastTheirInputs) {
  EXPECT_EQ(type_text("max", {}, {kMatrix, kRow}), "f32[4,5]");
  EXPECT_EQ(type_text("pow", {}, {kRow, kMatrix}), "f32[4,5]");
  EXPECT_EQ(type_text("where", {}, {kMask, kRow, kRow}), "f32[4,5]");
  EXPECT_EQ(type_text("min", {}, {kMatrix, {DType::kF32, {4}}}),
            "min: sizes 5 and 4 do not broadcast");
}

TEST(ElementwiseOperators, ComparisonsAreBool) {
  for (const char* name : {"equal", "less", "less_equal", "greater", "greater_equal"}) {
    EXPECT_EQ(type_text(name, {}, {kMatrix, kRow}), "bool[4,5]") << name;
  }
  EXPECT_EQ(type_text("is_nan", {}, {kMatrix}), "bool[4,5]");
  EXPECT_EQ(type_text("is_inf", {}, {kMatrix}), "bool[4,5]");
}

TEST(ElementwiseOperators, DoNotCalculateWithTruthValues) {
  const std::string refused = ": bool tensors have no arithmetic; cast them to a number first";
  for (const char* name : {"add", "sub", "mul"})
    EXPECT_EQ(type_text(name, {}, {kMask, kMask}), name + refused);
  EXPECT_EQ(type_text("matmul", {}, {kMask, {DType::kBool, {1, 2}}}), "matmul" + refused);
  // To choose among them is another thing.
  EXPECT_EQ(type_text("max", {}, {kMask, kMask}), "bool[4,1]");
  EXPECT_EQ(type_text("where", {}, {kMask, kMask, kMask}), "bool[4,1]");
}

TEST(ElementwiseOperators, RefuseElementTypesTheyHaveNoMeaningFor) {
  EXPECT_EQ(type_text("exp", {}, {kBytes}), "exp: input 0 must be a floating-point tensor, not u8");
  EXPECT_EQ(type_text("and", {}, {kMatrix, kRow}), "and: input 0 must be bool, not f32");
  EXPECT_EQ(type_text("bit_not", {}, {kMatrix}),
            "bit_not: input 0 must be an integer tensor, not f32");
  EXPECT_EQ(type_text("where", {}, {kMask, kMatrix, kBytes}),
            "where: input 2 must be of the type of input 1, not u8");
  EXPECT_EQ(type_text("bit_shift", {{"direction", std::string("UP")}}, {kBytes, kBytes}),
            "bit_shift: direction must be LEFT or RIGHT, not 'UP'");
}

TEST(ElementwiseOperators, KnowThatUnsignedNumbersHaveNoNegatives) {
  EXPECT_EQ(value_text("abs", {}, {kBytes}), "x[i0, i1]");
  EXPECT_EQ(value_text("abs", {}, {kMatrix}), "max(x[i0, i1], -x[i0, i1])");
  EXPECT_EQ(type_text("relu", {}, {kBytes}),
            "relu: input 0 must be a tensor of numbers that have a sign, not u8");
}

TEST(ElementwiseOperators, DoNotRoundAttributesForIntegers) {
  const TensorType integers{DType::kI64, {3}};
  EXPECT_EQ(type_text("shrink", {{"bias", 1.0}, {"lambd", 2.0}}, {integers}), "i64[3]");
  EXPECT_EQ(type_text("shrink", {{"bias", 0.25}, {"lambd", 2.0}}, {integers}),
            "shrink: input 0 must be a tensor of reals, or whole bias and lambd, not i64");
}

TEST(ElementwiseOperators, CastNamesItsType) {
  EXPECT_EQ(type_text("cast", {{"to", std::string("i64")}}, {kMatrix}), "i64[4,5]");
  EXPECT_EQ(type_text("cast", {{"to", std::string("f8")}}, {kMatrix}),
            "cast: there is no element type 'f8'");
}

TEST(ElementwiseOperators, ClipLeavesOutABoundItDoesNotHave) {
  const TensorType x{DType::kF32, {3}};
  EXPECT_EQ(value_text("clip", {{"min", 0.0}}, {x}), "max(x[i0], 0)");
  EXPECT_EQ(value_text("clip", {{"min", 0.0}, {"max", 6.0}}, {x}), "min(max(x[i0], 0), 6)");
  EXPECT_EQ(value_text("clip", {}, {x}), "x[i0]");
}

TEST(ElementwiseOperators, CompositesKeepTheTypeOfTheirInput) {
  const TensorType half{DType::kF16, Dims{symbolic_dim("N"), 8}};
  for (const char* name : {"gelu", "silu", "mish", "hard_swish", "rsqrt"}) {
    EXPECT_EQ(type_text(name, {}, {half}), "f16[N,8]") << name;
  }
  EXPECT_EQ(type_text("gelu", {{"approximate", std::string("tanh")}}, {half}), "f16[N,8]");
  EXPECT_EQ(type_text("gelu", {{"approximate", std::string("sine")}}, {half}),
            "gelu: approximate must be none or tanh, not 'sine'");
}

}  // namespace
}  // namespace egret::ir

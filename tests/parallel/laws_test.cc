// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/laws.h"

#include <gtest/gtest.h>

#include "ir/graph/graph_text.h"

namespace egret::parallel {
namespace {

// The laws for two devices as text, one a line, without the copies.
std::string laws(std::string_view name, const std::vector<std::string>& types,
                 const ir::Attrs& given = {}) {
  const ir::Operator& op = ir::get_operator(name);
  const ir::Attrs attrs = ir::canonical_attrs(op.attrs(), given).value();
  std::vector<ir::TensorType> inputs;
  for (const std::string& type : types) inputs.push_back(ir::parse_type(type).value());
  EXPECT_EQ(ir::infer_type(op, attrs, inputs).status().message(), "");
  std::string text;
  for (const Law& law : laws_of(op, attrs, inputs, 2)) {
    if (law.output.is_copy()) continue;
    text += to_string(law);
    if (!(law.attrs == attrs)) text += "  " + to_string(law.attrs);
    text += "\n";
  }
  return text;
}

TEST(Laws, OfAMatrixProduct) {
  EXPECT_EQ(laws("matmul", {"f32[4,6]", "f32[6,8]"}),
            "S(0), R -> S(0)\n"
            "R, S(1) -> S(1)\n"
            "R, P(sum) -> P(sum)\n"
            "S(1), S(0) -> P(sum)\n"
            "P(sum), R -> P(sum)\n");
}

TEST(Laws, CutOnlyWhatDivides) {
  EXPECT_EQ(laws("matmul", {"f32[3,5]", "f32[5,8]"}),
            "R, S(1) -> S(1)\n"
            "R, P(sum) -> P(sum)\n"
            "P(sum), R -> P(sum)\n");
}

TEST(Laws, NonlinearOperatorsAdmitNoPartialSums) {
  EXPECT_EQ(laws("relu", {"f32[4]"}), "S(0) -> S(0)\nP(max) -> P(max)\n");
  EXPECT_EQ(laws("exp", {"f32[4]"}), "S(0) -> S(0)\nP(max) -> P(max)\n");
  EXPECT_EQ(laws("abs", {"f32[4]"}), "S(0) -> S(0)\n");
  EXPECT_EQ(laws("neg", {"f32[4]"}), "S(0) -> S(0)\nP(sum) -> P(sum)\n");
}

TEST(Laws, ABiasIsNotAddedOnEveryDevice) {
  EXPECT_EQ(laws("add", {"f32[4,8]", "f32[8]"}),
            "S(0), R -> S(0)\n"
            "S(1), S(0) -> S(1)\n"
            "P(sum), P(sum) -> P(sum)\n"
            "R, P(max) -> P(max)\n"
            "P(max), R -> P(max)\n");
}

TEST(Laws, AProductIsLinearInEachFactorAlone) {
  EXPECT_EQ(laws("mul", {"f32[4]", "f32[4]"}),
            "S(0), S(0) -> S(0)\n"
            "R, P(sum) -> P(sum)\n"
            "P(sum), R -> P(sum)\n");
  EXPECT_EQ(laws("div", {"f32[4]", "f32[4]"}), "S(0), S(0) -> S(0)\nP(sum), R -> P(sum)\n");
  EXPECT_EQ(laws("div", {"i64[4]", "i64[4]"}), "S(0), S(0) -> S(0)\n");
}

// 2^30 + 2^30 is -2^31 as an i32 on one device, and 2^31 as the sum of two floats. The maximum of
// 5 - 2 and 1 - 2 is 255 as a u8.
TEST(Laws, IntegersThatWrapAroundAreNotTakenForNumbers) {
  EXPECT_EQ(laws("cast", {"i32[]"}, {{"to", std::string("f32")}}), "P(max) -> P(max)\n");
  EXPECT_EQ(laws("cast", {"f32[]"}, {{"to", std::string("f64")}}),
            "P(sum) -> P(sum)\nP(max) -> P(max)\n");
  EXPECT_EQ(laws("add", {"i32[]", "i32[]"}), "P(sum), P(sum) -> P(sum)\n");
  EXPECT_EQ(laws("sub", {"u8[]", "u8[]"}), "P(sum), P(sum) -> P(sum)\n");
  EXPECT_EQ(laws("mul", {"i64[]", "i64[]"}), "R, P(sum) -> P(sum)\nP(sum), R -> P(sum)\n");
  EXPECT_EQ(laws("neg", {"i8[]"}), "P(sum) -> P(sum)\n");
  // Moves and comparisons keep maxima of integers.
  EXPECT_EQ(laws("max", {"i32[]", "i32[]"}),
            "R, P(max) -> P(max)\nP(max), R -> P(max)\nP(max), P(max) -> P(max)\n");
  EXPECT_EQ(laws("reshape", {"u8[4]"}, {{"shape", ir::Integers{4, 1}}}),
            "S(0) -> S(0)  {shape=[2, 1]}\nP(sum) -> P(sum)\nP(max) -> P(max)\n");
}

TEST(Laws, ASoftmaxIsNotCutAlongItsAxis) {
  EXPECT_EQ(laws("softmax", {"f32[4,8]"}, {{"axis", std::int64_t{1}}}), "S(0) -> S(0)\n");
  EXPECT_EQ(laws("layer_norm", {"f32[4,6,8]", "f32[8]", "f32[8]"}, {{"axis", std::int64_t{2}}}),
            "S(0), R, R -> S(0)\nS(1), R, R -> S(1)\n"
            "R, P(sum), P(sum) -> P(sum)\nR, R, P(max) -> P(max)\n");
}

TEST(Laws, OfReductions) {
  EXPECT_EQ(laws("reduce_sum", {"f32[4,8]"}, {{"axes", ir::Integers{1}}}),
            "S(0) -> S(0)\nS(1) -> P(sum)\nP(sum) -> P(sum)\n");
  EXPECT_EQ(laws("reduce_max", {"f32[4,8]"}, {{"axes", ir::Integers{1}}}),
            "S(0) -> S(0)\nS(1) -> P(max)\nP(max) -> P(max)\n");
  // The mean of the means of parts is no sum.
  EXPECT_EQ(laws("reduce_mean", {"f32[4,8]"}, {{"axes", ir::Integers{1}}}),
            "S(0) -> S(0)\nP(sum) -> P(sum)\n");
}

TEST(Laws, AReshapeIsCutInTheOutermostFactor) {
  EXPECT_EQ(laws("reshape", {"f32[4,6,8]"}, {{"shape", ir::Integers{24, 8}}}),
            "S(0) -> S(0)  {shape=[12, 8]}\n"
            "S(2) -> S(1)  {shape=[24, 4]}\n"
            "P(sum) -> P(sum)\nP(max) -> P(max)\n");
  EXPECT_EQ(laws("reshape", {"f32[24,8]"}, {{"shape", ir::Integers{4, 6, 8}}}),
            "S(0) -> S(0)  {shape=[2, 6, 8]}\n"
            "S(1) -> S(2)  {shape=[4, 6, 4]}\n"
            "P(sum) -> P(sum)\nP(max) -> P(max)\n");
}

TEST(Laws, AReshapeIsCutIntoPartsOfOneElement) {
  EXPECT_EQ(laws("reshape", {"f32[3,10]"}, {{"shape", ir::Integers{3, 2, 5}}}),
            "S(1) -> S(1)  {shape=[3, 1, 5]}\n"
            "P(sum) -> P(sum)\nP(max) -> P(max)\n");
  EXPECT_EQ(laws("reshape", {"f32[3,2,5]"}, {{"shape", ir::Integers{3, 10}}}),
            "S(1) -> S(1)  {shape=[3, 5]}\n"
            "P(sum) -> P(sum)\nP(max) -> P(max)\n");
}

TEST(Laws, ATransposeMovesTheCut) {
  EXPECT_EQ(laws("transpose", {"f32[4,8]"}, {{"perm", ir::Integers{1, 0}}}),
            "S(1) -> S(0)\nS(0) -> S(1)\nP(sum) -> P(sum)\nP(max) -> P(max)\n");
}

TEST(Laws, AttentionIsCutByHeadsAndQueries) {
  EXPECT_EQ(laws("attention", {"f32[2,4,6,8]", "f32[2,4,6,8]", "f32[2,4,6,8]"}, {{"scale", 0.5}}),
            "S(0), S(0), S(0) -> S(0)\n"
            "S(1), S(1), S(1) -> S(1)\n"
            "S(2), R, R -> S(2)\n"
            "R, R, S(3) -> S(3)\n"
            "R, R, P(sum) -> P(sum)\n");
}

ir::Attrs windows(std::int64_t stride, const ir::Integers& pads, const ir::Integers& kernel = {}) {
  ir::Attrs attrs{
      {"strides", ir::Integers{stride, stride}}, {"pads", pads}, {"dilations", ir::Integers{1, 1}}};
  if (!kernel.empty()) attrs.set("kernel", kernel);
  return attrs;
}
std::string written(std::int64_t stride, const std::string& pads) {
  const std::string one = std::to_string(stride);
  return "{dilations=[1, 1], group=1, pads=[" + pads + "], strides=[" + one + ", " + one + "]}\n";
}

TEST(Laws, AConvolutionIsCutByImagesFiltersChannelsAndInSpaceWithHalos) {
  EXPECT_EQ(laws("conv", {"f32[2,4,8,8]", "f32[6,4,3,3]"}, windows(1, {1, 1, 1, 1})),
            "S(0), R -> S(0)\n"
            "R, S(0) -> S(1)\n"
            "S(2)-1+1, R -> S(2)  " +
                written(1, "0, 1, 0, 1") + "S(3)-1+1, R -> S(3)  " + written(1, "1, 0, 1, 0") +
                "R, P(sum) -> P(sum)\n"
                "S(1), S(1) -> P(sum)\n"
                "P(sum), R -> P(sum)\n");
}

// Of a stride of 2 the last row of the padding is never read.
TEST(Laws, AHaloIsAsWideAsWindowsReach) {
  EXPECT_EQ(laws("conv", {"f32[1,1,8,1]", "f32[1,1,3,1]"}, windows(2, {1, 0, 1, 0})),
            "S(2)-1+0, R -> S(2)  " + written(2, "0, 0, 1, 0") +
                "R, P(sum) -> P(sum)\nP(sum), R -> P(sum)\n");
  EXPECT_EQ(laws("conv", {"f32[1,1,8,1]", "f32[1,1,7,1]"}, windows(1, {3, 0, 3, 0})),
            "S(2)-3+3, R -> S(2)  " + written(1, "0, 0, 0, 0") +
                "R, P(sum) -> P(sum)\nP(sum), R -> P(sum)\n");
  // It would be wider than a block.
  EXPECT_EQ(laws("conv", {"f32[1,1,4,1]", "f32[1,1,7,1]"}, windows(1, {3, 0, 3, 0})),
            "R, P(sum) -> P(sum)\nP(sum), R -> P(sum)\n");
}

TEST(Laws, BeyondTheEndsOfAMaximumIsMinusInfinity) {
  EXPECT_EQ(laws("max_pool", {"f32[1,1,8,1]"}, windows(2, {1, 0, 1, 0}, {3, 1})),
            "S(2)-1+0(-inf) -> S(2)  {dilations=[1, 1], kernel=[3, 1], pads=[0, 0, 1, 0], "
            "strides=[2, 2]}\nP(max) -> P(max)\n");
  EXPECT_EQ(laws("max_pool", {"i64[1,1,8,1]"}, windows(2, {1, 0, 1, 0}, {3, 1})),
            "P(max) -> P(max)\n");
}

// What a mean over the elements inside divides by is another number at the ends.
TEST(Laws, AMeanThatCountsItsElementsHasNoHalo) {
  ir::Attrs attrs = windows(1, {1, 0, 1, 0}, {3, 1});
  EXPECT_EQ(laws("avg_pool", {"f32[1,1,8,1]"}, attrs), "P(sum) -> P(sum)\n");
  attrs.set("count_include_pad", std::int64_t{1});
  EXPECT_EQ(laws("avg_pool", {"f32[1,1,8,1]"}, attrs),
            "S(2)-1+1 -> S(2)  {count_include_pad=1, dilations=[1, 1], kernel=[3, 1], "
            "pads=[0, 0, 0, 0], strides=[1, 1]}\nP(sum) -> P(sum)\n");
}

// The gradient of a filter: positions of the image are summed over.
TEST(Laws, ASumOverPositionsIsCutWithAHalo) {
  EXPECT_EQ(laws("conv", {"f32[1,1,8,1]", "f32[1,1,8,1]"}, windows(1, {1, 0, 1, 0})),
            "R, P(sum) -> P(sum)\n"
            "S(2)-1+1, S(2) -> P(sum)  " +
                written(1, "0, 0, 0, 0") + "P(sum), R -> P(sum)\n");
}

TEST(Laws, WindowsThatDoNotOverlapAreCutInSpace) {
  EXPECT_EQ(laws("max_pool", {"f32[2,4,8,8]"}, windows(2, {0, 0, 0, 0}, {2, 2})),
            "S(0) -> S(0)\nS(1) -> S(1)\nS(2) -> S(2)\nS(3) -> S(3)\nP(max) -> P(max)\n");
}

TEST(Laws, OfLookingUp) {
  EXPECT_EQ(laws("gather", {"f32[10,8]", "i64[4]"}),
            "R, S(0) -> S(0)\n"
            "S(1), R -> S(1)\n"
            "P(sum), R -> P(sum)\nP(max), R -> P(max)\n");
}

}  // namespace
}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/ir/operator_types.h"

namespace egret::ir {
namespace {

const TensorType kCube{DType::kF32, Dims{symbolic_dim("N"), 3, 4}};

Attrs over(Integers axes, std::int64_t keepdims) {
  return {{"axes", std::move(axes)}, {"keepdims", keepdims}};
}

TEST(Reductions, KeepOrDropTheirAxes) {
  for (const char* name :
       {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_l1",
        "reduce_l2", "reduce_sum_square", "reduce_log_sum", "reduce_log_sum_exp"}) {
    EXPECT_EQ(type_text(name, over({1}, 1), {kCube}), "f32[N,1,4]") << name;
    EXPECT_EQ(type_text(name, over({1, 2}, 0), {kCube}), "f32[N]") << name;
    EXPECT_EQ(type_text(name, over({}, 0), {kCube}), "f32[N,3,4]") << name;
  }
}

TEST(Reductions, RefuseAxesThatAreNotAscending) {
  EXPECT_EQ(type_text("reduce_sum", over({2, 1}, 1), {kCube}),
            "reduce_sum: axes must be ascending and distinct");
  EXPECT_EQ(type_text("reduce_sum", over({1, 1}, 1), {kCube}),
            "reduce_sum: axes must be ascending and distinct");
  EXPECT_EQ(type_text("reduce_sum", over({3}, 1), {kCube}),
            "reduce_sum: axis 3 is outside of rank 3");
}

TEST(Reductions, MeanDividesByHowMuchItSums) {
  EXPECT_EQ(value_text("reduce_mean", over({0}, 0), {{DType::kF32, Dims{symbolic_dim("N")}}}),
            "(sum i0 < N. x[i0])/scalar(N)");
}

TEST(Reductions, ArgMaxGivesPositions) {
  const auto axis = [](std::int64_t i, std::int64_t keepdims) {
    return Attrs{{"axis", i}, {"keepdims", keepdims}};
  };
  EXPECT_EQ(type_text("arg_max", axis(1, 1), {kCube}), "i64[N,1,4]");
  EXPECT_EQ(type_text("arg_min", axis(2, 0), {kCube}), "i64[N,3]");
  EXPECT_EQ(type_text("arg_max", axis(0, 0), {{DType::kF32, {0}}}),
            "arg_max: reduces over an empty axis");
}

TEST(Reductions, TopKNeedsAsManyElements) {
  const auto top = [](std::int64_t k) { return Attrs{{"axis", std::int64_t{2}}, {"k", k}}; };
  EXPECT_EQ(type_text("topk_indices", top(2), {kCube}), "i64[N,3,2]");
  EXPECT_EQ(type_text("topk_indices", top(5), {kCube}),
            "topk_indices: k must be between 0 and the size of the axis");
}

TEST(Reductions, SoftmaxKeepsItsType) {
  for (const char* name : {"softmax", "log_softmax", "hardmax", "cum_sum"}) {
    EXPECT_EQ(type_text(name, {{"axis", std::int64_t{1}}}, {kCube}), "f32[N,3,4]") << name;
  }
}

}  // namespace
}  // namespace egret::ir

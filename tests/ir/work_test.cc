// SPDX-License-Identifier: Apache-2.0
#include "ir/nest/work.h"

#include <gtest/gtest.h>

namespace egret::ir {
namespace {

TEST(Work, OfMatmulIsTwoForEachMultiplyAdd) {
  const TensorType types[] = {{DType::kF32, {32, 100}}, {DType::kF32, {100, 10}}};
  const auto work = work_of(get_operator("matmul"), {}, types);
  ASSERT_TRUE(work.ok()) << work.status().message();
  EXPECT_EQ(work->flops, 2.0 * 32 * 100 * 10);
  EXPECT_EQ(work->bytes_read, 4.0 * (32 * 100 + 100 * 10));
  EXPECT_EQ(work->bytes_written, 4.0 * 32 * 10);
}

TEST(Work, OfConvBillsItsPadding) {
  const TensorType types[] = {{DType::kF32, {1, 64, 56, 56}}, {DType::kF32, {64, 64, 3, 3}}};
  const auto attrs = canonical_attrs(
      get_operator("conv").attrs(),
      {{"strides", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}});
  const auto work = work_of(get_operator("conv"), *attrs, types);
  ASSERT_TRUE(work.ok()) << work.status().message();
  EXPECT_EQ(work->flops, 64.0 * 56 * 56 * (2.0 * 64 * 9));
}

TEST(Work, OfACompositeSumsItsBodyAndReadsOnce) {
  const TensorType types[] = {{DType::kF32, {10, 100}}};
  const auto work = work_of(get_operator("softmax"), {{"axis", std::int64_t{1}}}, types);
  ASSERT_TRUE(work.ok()) << work.status().message();
  EXPECT_EQ(work->flops, 5.0 * 1000);  // max, sub, exp, sum, div
  EXPECT_EQ(work->bytes_read, 4000);
  EXPECT_EQ(work->bytes_written, 4000);
}

TEST(Work, OfMovementHasNoArithmetic) {
  const TensorType types[] = {{DType::kF32, {10, 100}}};
  const auto work = work_of(get_operator("transpose"), {{"perm", Integers{1, 0}}}, types);
  ASSERT_TRUE(work.ok()) << work.status().message();
  EXPECT_EQ(work->flops, 0);
  EXPECT_EQ(work->bytes_read, 4000);
}

TEST(Work, NeedsConcreteTypes) {
  const TensorType types[] = {{DType::kF32, Dims{symbolic_dim("N"), 3}}};
  EXPECT_FALSE(work_of(get_operator("relu"), {}, types).ok());
}

}  // namespace
}  // namespace egret::ir

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/ir/operator_types.h"

namespace egret::ir {
namespace {

const TensorType kImage{DType::kF32, Dims{symbolic_dim("N"), 6, 10, 8}};

Attrs windows(Integers strides, Integers pads, Integers dilations) {
  return {{"strides", std::move(strides)},
          {"pads", std::move(pads)},
          {"dilations", std::move(dilations)}};
}

Attrs pooling(Integers kernel, Integers strides, Integers pads) {
  Attrs attrs = windows(std::move(strides), std::move(pads), Integers(kernel.size(), 1));
  attrs.set("kernel", std::move(kernel));
  return attrs;
}

TEST(Windows, CountPlacesOfTheKernel) {
  for (const char* name : {"max_pool", "avg_pool", "lp_pool"}) {
    EXPECT_EQ(type_text(name, pooling({3, 3}, {2, 2}, {1, 1, 1, 1}), {kImage}), "f32[N,6,5,4]")
        << name;
    EXPECT_EQ(type_text(name, pooling({2, 2}, {1, 1}, {0, 0, 0, 0}), {kImage}), "f32[N,6,9,7]")
        << name;
  }
  const TensorType volume{DType::kF32, {1, 2, 7, 7, 7}};
  EXPECT_EQ(type_text("max_pool", pooling({2, 3, 4}, {1, 2, 3}, {0, 0, 0, 0, 0, 0}), {volume}),
            "f32[1,2,6,3,2]");
}

TEST(Windows, SaySizesThatDoNotFit) {
  EXPECT_EQ(type_text("max_pool", pooling({11, 3}, {1, 1}, {0, 0, 0, 0}), {kImage}),
            "max_pool: the window is larger than the padded input");
  EXPECT_EQ(type_text("max_pool", pooling({3, 3}, {0, 1}, {0, 0, 0, 0}), {kImage}),
            "max_pool: strides and dilations must be positive");
  EXPECT_EQ(type_text("avg_pool", pooling({3, 3}, {1, 1}, {-1, 0, 0, 0}), {kImage}),
            "avg_pool: pads must not be negative");
  EXPECT_EQ(type_text("avg_pool", pooling({3}, {1, 1}, {0, 0, 0, 0}), {kImage}),
            "avg_pool: input 0 must have rank 3, not 4");
  EXPECT_EQ(
      type_text("max_pool", pooling({3, 3}, {1, std::int64_t{1} << 62}, {0, 0, 0, 0}), {kImage}),
      "max_pool: window numbers must be at most 2^31, not 4611686018427387904");
}

TEST(Windows, OfAMaximumHaveAnElement) {
  const std::string refusal = "max_pool: a window lies in the padding alone";
  EXPECT_EQ(type_text("max_pool", pooling({2, 2}, {1, 1}, {2, 0, 0, 0}), {kImage}), refusal);
  EXPECT_EQ(type_text("max_pool", pooling({2, 2}, {1, 1}, {0, 0, 0, 2}), {kImage}), refusal);
  EXPECT_EQ(type_text("max_pool", pooling({2, 2}, {1, 1}, {1, 1, 1, 1}), {kImage}),
            "f32[N,6,11,9]");
  // Taps at -1 and 1 of a line of one element.
  const TensorType point{DType::kF32, {1, 1, 1}};
  Attrs wide = pooling({2}, {1}, {1, 1});
  wide.set("dilations", Integers{2});
  EXPECT_EQ(type_text("max_pool", wide, {point}), refusal);
}

TEST(Windows, AnAverageCountsWhatIsInside) {
  const TensorType line{DType::kF32, {1, 1, 5}};
  EXPECT_EQ(value_text("avg_pool", pooling({3}, {1}, {0, 0}), {line}),
            "(sum i0 < 3. x[i1, i2, i3 + i0])/3");
  Attrs all = pooling({3}, {1}, {1, 1});
  all.set("count_include_pad", std::int64_t{1});
  EXPECT_EQ(value_text("avg_pool", all, {line}),
            "(sum i0 < 3 where 0 <= i1 + i0 - 1 and i1 + i0 <= 5. x[i2, i3, i1 + i0 - 1])/3");
}

TEST(Convolutions, InferTheirOutputs) {
  const TensorType w{DType::kF32, {4, 3, 3, 3}};
  const TensorType bias{DType::kF32, {4}};
  const TensorType out{DType::kF32, Dims{symbolic_dim("N"), 4, 5, 4}};
  Attrs attrs = windows({2, 2}, {1, 1, 1, 1}, {1, 1});
  attrs.set("group", std::int64_t{2});
  EXPECT_EQ(type_text("conv", attrs, {kImage, w}), "f32[N,4,5,4]");
  EXPECT_EQ(type_text("fused_conv", attrs, {kImage, w, bias}), "f32[N,4,5,4]");
  attrs.set("activation", std::string("relu6"));
  EXPECT_EQ(type_text("fused_conv", attrs, {kImage, w, bias, out}), "f32[N,4,5,4]");
  EXPECT_EQ(type_text("fused_conv", attrs, {kImage, w, bias, {DType::kF32, {2, 1, 1, 1, 1}}}),
            "fused_conv: the residual f32[2,1,1,1,1] does not broadcast to f32[N,4,5,4]");
  attrs.set("activation", std::string("sine"));
  EXPECT_EQ(type_text("fused_conv", attrs, {kImage, w, bias}),
            "fused_conv: there is no activation 'sine'");
}

// The channels of a group divide by the filters of a group, of which there are none.
TEST(Convolutions, MayHaveNoFilters) {
  const auto attrs = canonical_attrs(
      get_operator("conv").attrs(),
      {{"strides", Integers{1}}, {"pads", Integers{0, 0}}, {"dilations", Integers{1}}});
  ASSERT_TRUE(attrs.ok());
  const TensorType types[] = {{DType::kF32, {2, 1, 4}}, {DType::kF32, {0, 1, 2}}};
  const auto type = infer_type(get_operator("conv"), *attrs, types);
  ASSERT_TRUE(type.ok()) << type.status().message();
  EXPECT_EQ(to_string(*type), "f32[2,0,3]");
  EXPECT_TRUE(denote(get_operator("conv"), *attrs, types).ok());
}

TEST(Convolutions, TransposedOnesTurnSizesAround) {
  const TensorType small{DType::kF32, {2, 4, 5, 4}};
  const TensorType w{DType::kF32, {4, 3, 3, 3}};
  Attrs attrs = windows({2, 2}, {1, 1, 1, 1}, {1, 1});
  attrs.set("group", std::int64_t{2});
  attrs.set("output_padding", Integers{1, 1});
  EXPECT_EQ(type_text("conv_transpose", attrs, {small, w}), "f32[2,6,10,8]");
}

TEST(Products, BiasAndResidualKeepTheProductsShape) {
  const TensorType a{DType::kF32, Dims{symbolic_dim("N"), 7, 3}};
  const TensorType b{DType::kF32, {3, 5}};
  const TensorType bias{DType::kF32, {5}};
  EXPECT_EQ(type_text("fused_matmul", {}, {a, b, bias}), "f32[N,7,5]");
  EXPECT_EQ(type_text("fused_matmul", {{"activation", std::string("gelu")}}, {a, b, bias, bias}),
            "f32[N,7,5]");
  EXPECT_EQ(type_text("fused_matmul", {}, {{DType::kF32, {7, 3}}, b, {DType::kF32, {2, 7, 5}}}),
            "fused_matmul: the bias f32[2,7,5] does not broadcast to f32[7,5]");
}

TEST(Products, AttentionTakesHeadsAsBatch) {
  const TensorType q{DType::kF32, Dims{symbolic_dim("B"), 12, symbolic_dim("S"), 64}};
  const Attrs attrs{{"scale", 0.125}, {"causal", std::int64_t{1}}};
  EXPECT_EQ(type_text("attention", attrs, {q, q, q}), "f32[B,12,S,64]");
}

TEST(Normalizations, KeepTheTypeOfTheirInput) {
  const TensorType channels{DType::kF32, {6}};
  EXPECT_EQ(type_text("batch_norm", {}, {kImage, channels, channels, channels, channels}),
            "f32[N,6,10,8]");
  EXPECT_EQ(type_text("instance_norm", {}, {kImage, channels, channels}), "f32[N,6,10,8]");
  EXPECT_EQ(type_text("group_norm", {{"groups", std::int64_t{3}}}, {kImage, channels, channels}),
            "f32[N,6,10,8]");
  EXPECT_EQ(type_text("group_norm", {{"groups", std::int64_t{4}}}, {kImage, channels, channels}),
            "group_norm: 6 channels do not make 4 groups");
  EXPECT_EQ(type_text("layer_norm", {{"axis", std::int64_t{3}}}, {kImage, {DType::kF32, {8}}}),
            "f32[N,6,10,8]");
  EXPECT_EQ(type_text("rms_norm", {{"axis", std::int64_t{3}}}, {kImage, {DType::kF32, {8}}}),
            "f32[N,6,10,8]");
  EXPECT_EQ(type_text("lrn", {{"size", std::int64_t{5}}}, {kImage}), "f32[N,6,10,8]");
  EXPECT_EQ(type_text("lp_norm", {{"axis", std::int64_t{1}}}, {kImage}), "f32[N,6,10,8]");
  EXPECT_EQ(type_text("mean_variance_norm", {{"axes", Integers{0, 2, 3}}}, {kImage}),
            "f32[N,6,10,8]");
}

}  // namespace
}  // namespace egret::ir

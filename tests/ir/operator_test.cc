// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

#include <gtest/gtest.h>

#include "ir/graph/body.h"

namespace egret::ir {
namespace {

TEST(Operator, MatmulPrintsAsItsDefinition) {
  const TensorType types[] = {{DType::kF32, Dims{symbolic_dim("M"), symbolic_dim("K")}},
                              {DType::kF32, Dims{symbolic_dim("K"), symbolic_dim("N")}}};
  const auto d = denote(get_operator("matmul"), {}, types);
  ASSERT_TRUE(d.ok()) << d.status().message();
  EXPECT_EQ(to_string(d->type), "f32[M,N]");
  const std::string names[] = {"a", "b"};
  EXPECT_EQ(to_string(d->value, names), "sum i0 < K. a[i1, i0]*b[i0, i2]");
  EXPECT_TRUE(d->requirements.empty());
}

TEST(Operator, ConvInfersItsOutputSize) {
  const TensorType types[] = {{DType::kF32, {1, 3, 224, 224}}, {DType::kF32, {64, 3, 7, 7}}};
  const auto attrs = canonical_attrs(
      get_operator("conv").attrs(),
      {{"strides", Integers{2, 2}}, {"pads", Integers{3, 3, 3, 3}}, {"dilations", Integers{1, 1}}});
  ASSERT_TRUE(attrs.ok());
  const auto type = infer_type(get_operator("conv"), *attrs, types);
  ASSERT_TRUE(type.ok()) << type.status().message();
  EXPECT_EQ(to_string(*type), "f32[1,64,112,112]");
}

TEST(Operator, ConvKeepsASymbolicBatch) {
  const TensorType types[] = {{DType::kF32, Dims{symbolic_dim("N"), 3, 8, 8}},
                              {DType::kF32, {4, 3, 3, 3}}};
  const auto attrs = canonical_attrs(
      get_operator("conv").attrs(),
      {{"strides", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}});
  const auto type = infer_type(get_operator("conv"), *attrs, types);
  ASSERT_TRUE(type.ok()) << type.status().message();
  EXPECT_EQ(to_string(*type), "f32[N,4,8,8]");
}

TEST(Operator, BrokenRequirementsNameOperatorAndReason) {
  const TensorType types[] = {{DType::kF32, {2, 3}}, {DType::kF32, {4, 5}}};
  const auto type = infer_type(get_operator("matmul"), {}, types);
  ASSERT_FALSE(type.ok());
  EXPECT_EQ(type.status().message(), "matmul: inner sizes 3 and 4 differ");
}

TEST(Operator, CompositesTakeTheTypeOfTheirBody) {
  const TensorType types[] = {{DType::kF32, Dims{symbolic_dim("N"), 10}}};
  const auto type = infer_type(get_operator("softmax"), {{"axis", std::int64_t{1}}}, types);
  ASSERT_TRUE(type.ok()) << type.status().message();
  EXPECT_EQ(to_string(*type), "f32[N,10]");
}

TEST(Graph, ExpandsCompositesAndBindsSymbols) {
  GraphBuilder builder;
  const Value x = builder.input("x", {DType::kF32, Dims{symbolic_dim("N"), 10}});
  builder.output("y", builder.add("softmax", {x}, {{"axis", std::int64_t{1}}}));
  auto graph = builder.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  auto bound = bind_symbols(*graph, {{"N", 8}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  auto expanded = expand_composites(*bound);
  ASSERT_TRUE(expanded.ok()) << expanded.status().message();
  EXPECT_TRUE(expanded->check_invariants().ok());
  EXPECT_EQ(expanded->operator_count(), 5U);
  EXPECT_EQ(to_string(expanded->node(expanded->outputs()[0].node).type), "f32[8,10]");
  EXPECT_FALSE(bind_symbols(*graph, {{"M", 8}}).ok());
}

}  // namespace
}  // namespace egret::ir

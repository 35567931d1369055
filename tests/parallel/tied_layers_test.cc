// SPDX-License-Identifier: Apache-2.0
#include "parallel/tied_layers.h"

#include <gtest/gtest.h>

#include "tests/parallel/model.h"

namespace egret::parallel {
namespace {

// Layers of two products each with a residual, all of other weights.
ir::Graph deep(int layers, bool keeps_first = false) {
  ir::GraphBuilder b;
  base::Random random(3);
  ir::Value x = b.input("x", {ir::DType::kF32, {8, 256}});
  ir::Value first = x;
  for (int i = 0; i < layers; ++i) {
    const auto weight = [&](const char* name, std::initializer_list<std::int64_t> shape) {
      return b.constant(ir::Tensor::random({ir::DType::kF32, shape}, random),
                        name + std::to_string(i));
    };
    const ir::Value h = b.add("relu", {b.add("matmul", {x, weight("up", {256, 1024})})});
    if (i == 1) first = h;
    x = b.add("add", {x, b.add("matmul", {h, weight("down", {1024, 256})})});
  }
  b.output("y", b.add("tanh", {x}));
  if (keeps_first) b.output("h", first);
  return b.finish().value();
}

TEST(TiedLayers, AreFound) {
  for (const int layers : {6, 9, 30}) {
    const auto fewer = with_fewer_layers(deep(layers), 4);
    ASSERT_TRUE(fewer) << layers;
    // What reads the input itself, which is no operator's value, is of no kind.
    EXPECT_EQ(fewer->layers, layers - 1);
    EXPECT_EQ(fewer->graph.operator_count(), 5 * 4 + 1U);
    EXPECT_TRUE(fewer->graph.check_invariants().ok());
  }
  EXPECT_FALSE(with_fewer_layers(deep(4), 4));
  EXPECT_FALSE(with_fewer_layers(mlp(8, 16, 32), 1));
}

// A value from inside a layer that is read elsewhere keeps that layer.
TEST(TiedLayers, KeepWhatIsReadElsewhere) {
  const auto fewer = with_fewer_layers(deep(12, true), 4);
  ASSERT_TRUE(fewer);
  EXPECT_EQ(fewer->graph.outputs().size(), 2U);
  EXPECT_TRUE(fewer->graph.check_invariants().ok());
}

TEST(TiedLayers, ArePlannedAsAllTogether) {
  for (const char* mesh : {"x=2", "x=4", "x=8"}) {
    const auto all = plan_of(deep(10), machine_of(mesh));
    PlanOptions options;
    options.layers = 4;
    const auto tied = plan_of(deep(10), machine_of(mesh), options);
    ASSERT_TRUE(all.ok() && tied.ok()) << tied.status().message();
    EXPECT_EQ(tied->layers, 9);
    EXPECT_GE(tied->time_s, all->time_s - 1e-12);
    EXPECT_LE(tied->time_s, all->time_s * 1.01);
    EXPECT_EQ(tied->bound_s, 0);
  }
}

}  // namespace
}  // namespace egret::parallel

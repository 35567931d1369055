// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/tied_layers.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/parallel/model.h"

namespace egret::parallel {
namespace {

enum class Form { kPlain, kMasked, kConstantMask, kKeepsInner, kKeepsSeam, kSharedWeight };

// Layers of two products each with a residual, all of other weights.
ir::Graph deep(int layers, Form form = Form::kPlain) {
  ir::GraphBuilder b;
  base::Random random(3);
  const auto weight = [&](const std::string& name, std::initializer_list<std::int64_t> shape) {
    return b.constant(ir::Tensor::random({ir::DType::kF32, shape}, random), name);
  };
  ir::Value x = b.input("x", {ir::DType::kF32, {8, 256}});
  const ir::Value mask = b.add("tanh", {b.input("mask", {ir::DType::kF32, {8, 1024}})});
  const ir::Value of_constants = b.add("tanh", {weight("constant mask", {8, 1024})});
  const ir::Value shared = weight("shared", {256, 1024});
  ir::Value kept = x;
  for (int i = 0; i < layers; ++i) {
    const std::string number = std::to_string(i);
    const ir::Value up = form == Form::kSharedWeight ? shared : weight("up" + number, {256, 1024});
    ir::Value h = b.add("relu", {b.add("matmul", {x, up})});
    if (form == Form::kMasked) h = b.add("mul", {h, mask});
    if (form == Form::kConstantMask) h = b.add("mul", {h, of_constants});
    if (form == Form::kKeepsInner && i == 1) kept = h;
    x = b.add("add", {x, b.add("matmul", {h, weight("down" + number, {1024, 256})})});
    if (form == Form::kKeepsSeam && i == 1) kept = x;
  }
  b.output("y", b.add("tanh", {x}));
  if (form == Form::kKeepsInner || form == Form::kKeepsSeam) b.output("kept", kept);
  return b.finish().value();
}

TEST(EqualLayers, AreFoundFromTheInputOn) {
  for (const int layers : {6, 9, 30}) {
    const ir::Graph graph = deep(layers);
    const auto found = equal_layers(graph);
    ASSERT_TRUE(found) << layers;
    EXPECT_EQ(found->nodes.size(), static_cast<std::size_t>(layers));
    EXPECT_EQ(graph.node(found->seams.front()).name, "x");
    for (const auto& nodes : found->nodes) EXPECT_EQ(nodes.size(), 4U + 2U);
    const auto fewer = with_fewer_layers(graph, 3);
    ASSERT_TRUE(fewer);
    EXPECT_EQ(fewer->layers, layers);
    EXPECT_EQ(fewer->repeats, layers - 2);
    EXPECT_EQ(ir::without_dead_nodes(fewer->graph).operator_count(), 4 * 3 + 2 + 1U);
    EXPECT_TRUE(fewer->graph.check_invariants().ok());
  }
  EXPECT_FALSE(with_fewer_layers(deep(4), 4));
  EXPECT_FALSE(equal_layers(deep(2)));
  EXPECT_FALSE(equal_layers(mlp(8, 16, 32)));
}

// A weight that stands for many has one of the whole for each of them, each once.
TEST(EqualLayers, KeepTheirOwnWeights) {
  const ir::Graph graph = deep(9);
  const auto fewer = with_fewer_layers(graph, 3);
  ASSERT_TRUE(fewer);
  std::set<ir::NodeId> all;
  for (const auto& [hash, nodes] : fewer->weights) {
    for (const ir::NodeId id : nodes) {
      EXPECT_TRUE(all.insert(id).second);
      EXPECT_EQ(graph.node(id).kind, ir::NodeKind::kConstant);
    }
  }
  EXPECT_EQ(all.size(), 2 * 9U);
}

TEST(EqualLayers, MayAllReadAMask) {
  for (const Form form : {Form::kMasked, Form::kConstantMask}) {
    const auto found = equal_layers(deep(8, form));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->nodes.size(), 8U);
  }
}

// Two residuals a layer, as in a transformer: values inside of a layer look like seams, unless what
// is far above them counts, and that differs between few layers.
TEST(EqualLayers, MayBeFewAndHaveTwoResiduals) {
  for (const int layers : {3, 4, 5, 8}) {
    Model m;
    ir::Value x = m.input("x", {8, 16});
    for (int i = 0; i < layers; ++i) {
      const auto weight = [&](const char* name) {
        return m.weight((name + std::to_string(i)).c_str(), {16, 16});
      };
      x = m("add", {x, m("matmul", {m("tanh", {m("matmul", {x, weight("a")})}), weight("b")})});
      x = m("add", {x, m("matmul", {m("relu", {m("matmul", {x, weight("c")})}), weight("d")})});
    }
    const auto found = equal_layers(m.finish(m("tanh", {x})));
    ASSERT_TRUE(found) << layers;
    EXPECT_EQ(found->nodes.size(), static_cast<std::size_t>(layers));
    for (const auto& nodes : found->nodes) EXPECT_EQ(nodes.size(), 8U + 4U);
  }
}

// Others than the next layer read a value of layer 1: equal layers come after it.
TEST(EqualLayers, EndWhereOthersReadFromThem) {
  const auto inner = equal_layers(deep(12, Form::kKeepsInner));
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->nodes.size(), 10U);
  const auto seam = equal_layers(deep(12, Form::kKeepsSeam));
  ASSERT_TRUE(seam);
  EXPECT_EQ(seam->nodes.size(), 10U);
}

TEST(TiedLayers, ArePlannedAsAllTogether) {
  for (const Form form : {Form::kPlain, Form::kMasked, Form::kSharedWeight, Form::kKeepsInner}) {
    for (const char* mesh : {"x=2", "x=4", "x=2,y=2"}) {
      ParallelPlanOptions options;
      options.layers = 0;
      const auto all = plan_of(deep(10, form), machine_of(mesh), options);
      options.layers = 2;
      const auto tied = plan_of(deep(10, form), machine_of(mesh), options);
      ASSERT_TRUE(all.ok() && tied.ok()) << tied.status().message();
      const bool one_axis = std::string_view(mesh).find('y') == std::string_view::npos;
      EXPECT_EQ(all->layers, 0);
      EXPECT_GE(tied->layers, 8);
      // Values between tied layers have one placement; without, one layer may begin otherwise.
      const double error = one_axis ? 1e-9 : 1e-3;
      EXPECT_GE(tied->time_s, all->time_s * (1 - 1e-9)) << mesh;
      EXPECT_LE(tied->time_s, all->time_s * (1 + error)) << mesh;
      EXPECT_NEAR(tied->bound_s, tied->time_s, tied->time_s * 1e-9);
      EXPECT_LT(tied->placed_nodes, all->placed_nodes * 2 / 3);
      if (one_axis) {  // else they may change roles
        EXPECT_EQ(communication(*tied), communication(*all));
      }
      EXPECT_EQ(tied->baselines.size(), all->baselines.size());
      for (const auto& [name, seconds] : all->baselines)
        EXPECT_NEAR(tied->baselines.at(name), seconds, seconds * error) << name;
    }
  }
}

// The bottleneck of memory: what few layers take says nothing of what all take.
TEST(TiedLayers, HoldAllTheirWeights) {
  ParallelPlanOptions options;
  const auto tied = plan_of(deep(20), machine_of("x=4"), options);
  options.layers = 0;
  const auto all = plan_of(deep(20), machine_of("x=4"), options);
  ASSERT_TRUE(tied.ok() && all.ok());
  EXPECT_GT(tied->layers, 0);
  EXPECT_NEAR(tied->memory_bytes, all->memory_bytes, all->memory_bytes * 0.01);
}

TEST(TiedLayers, AreTwoAtLeast) {
  ParallelPlanOptions options;
  options.layers = 1;
  EXPECT_EQ(plan_of(deep(5), machine_of("x=2"), options).status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::parallel

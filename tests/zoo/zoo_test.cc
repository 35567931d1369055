// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ir/evaluate/interpreter.h"

namespace egret::zoo {
namespace {

ir::Graph build(std::string_view name, const ZooOptions& options = {}) {
  auto graph = find_model(name)->build(options);
  EXPECT_TRUE(graph.ok()) << name << ": " << graph.status().message();
  return graph.ok() ? *std::move(graph) : ir::Graph();
}

std::map<std::string, int> operator_counts(const ir::Graph& graph) {
  std::map<std::string, int> counts;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op != nullptr) ++counts[node.op->name()];
  }
  return counts;
}

std::int64_t parameters(const ir::Graph& graph) {
  std::int64_t count = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (node.kind == ir::NodeKind::kConstant) count += node.type.elements();
  }
  return count;
}

std::string output_type(const ir::Graph& graph) {
  return to_string(graph.node(graph.outputs()[0].node).type);
}

TEST(Zoo, NasRnnHasTheOperatorsOfItsCell) {
  const auto counts = operator_counts(build("nasrnn"));
  EXPECT_EQ(counts.at("matmul"), 5 * 16);
  EXPECT_EQ(counts.at("add"), 5 * 11);
  EXPECT_EQ(counts.at("mul"), 5 * 4);
  EXPECT_EQ(counts.at("relu"), 5 * 2);
  EXPECT_EQ(counts.at("sigmoid"), 5 * 5);
  EXPECT_EQ(counts.at("tanh"), 5 * 8);
}

// Parameters as published with torchvision's models, batch norm's two statistics added.
TEST(Zoo, Resnet50HasThePublishedSize) {
  const ir::Graph graph = build("resnet50");
  EXPECT_EQ(output_type(graph), "f32[1,1000]");
  EXPECT_EQ(operator_counts(graph).at("conv"), 53);
  EXPECT_EQ(parameters(graph), 25'557'032 + 2 * 26'560);
}

TEST(Zoo, LargerNetworksHaveThePublishedSize) {
  const ir::Graph deep = build("resnet101");
  EXPECT_EQ(operator_counts(deep).at("conv"), 104);
  EXPECT_EQ(parameters(deep), 44'549'160 + 2 * 52'672);
  EXPECT_EQ(parameters(build("vgg16")), 138'357'544);
}

TEST(Zoo, ShapesAreThoseOfThePapers) {
  EXPECT_EQ(output_type(build("inception-v3")), "f32[1,1000]");
  EXPECT_EQ(output_type(build("squeezenet1.1")), "f32[1,1000]");
  EXPECT_EQ(parameters(build("squeezenet1.1")), 1'235'496);
  EXPECT_EQ(parameters(build("squeezenet1.0")), 1'248'424);
  EXPECT_EQ(output_type(build("bert-taso")), "f32[64,1024]");
  EXPECT_EQ(output_type(build("resnext50-taso")), "f32[1,2048,7,7]");
  // The paper: 23 convolutional layers, four of them up.
  EXPECT_EQ(output_type(build("unet")), "f32[1,2,128,128]");
  EXPECT_EQ(operator_counts(build("unet"))["fused_conv"], 19);
  EXPECT_EQ(operator_counts(build("unet"))["conv_transpose"], 4);
  EXPECT_EQ(output_type(build("csrnet-backend")), "f32[1,64,14,14]");
}

TEST(Zoo, BatchAndSeedChangeTypesAndWeights) {
  EXPECT_EQ(output_type(build("mobilenet-v2", {.batch = 4})), "f32[4,1000]");
  const auto first_weight = [](const ir::Graph& graph) {
    for (const ir::Node& node : graph.nodes()) {
      if (node.kind == ir::NodeKind::kConstant) return node.data.content_hash();
    }
    return base::ContentHash{};
  };
  EXPECT_EQ(first_weight(build("nasrnn")), first_weight(build("nasrnn")));
  EXPECT_NE(first_weight(build("nasrnn")), first_weight(build("nasrnn", {.seed = 2})));
}

// The pairs of nine features are 36, and no feature is paired with itself.
TEST(Zoo, DlrmHasItsTablesAndPairs) {
  const ir::Graph graph = build("dlrm", {.batch = 3});
  EXPECT_EQ(output_type(graph), "f32[3,1]");
  EXPECT_EQ(graph.inputs().size(), 1U + 8);
  const std::int64_t bottom = 13 * 512 + 512 + 512 * 256 + 256 + 256 * 64 + 64;
  const std::int64_t top = (64 + 36) * 512 + 512 + 512 * 256 + 256 + 256 + 1;
  EXPECT_EQ(parameters(graph), bottom + top + 8 * 10'000 * 64 + 36);
}

// Routing written out token by token, with the block's own weights.
TEST(Zoo, MoeBlockDropsWhatExpertsCannotTake) {
  constexpr std::size_t kTokens = 12, kHidden = 256, kInner = 1024, kExperts = 8;
  const ir::Graph graph =
      build("moe-block", {.batch = 1, .sequence = static_cast<std::int64_t>(kTokens)});
  std::map<std::int64_t, const ir::Tensor*> weights;  // by elements; up comes before down
  std::vector<const ir::Tensor*> expert_weights;
  for (const ir::Node& node : graph.nodes()) {
    if (node.kind != ir::NodeKind::kConstant) continue;
    if (node.type.rank() == 3) expert_weights.push_back(&node.data);
    weights[node.type.elements()] = &node.data;
  }
  ASSERT_EQ(expert_weights.size(), 2U);
  const auto gate = weights.at(kHidden * kExperts)->as<float>();
  const auto up = expert_weights[0]->as<float>(), down = expert_weights[1]->as<float>();
  // The normalized input is read from the graph itself: everything behind it is written out.
  ir::Graph normalized = graph;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.nodes()[i].op != nullptr && graph.nodes()[i].op->name() == "matmul") {
      normalized.add_output("normalized", graph.nodes()[i].inputs[0]);
      break;
    }
  }
  // Tokens that have much in common prefer the same experts.
  base::Random random(4);
  std::vector<ir::Tensor> inputs = {ir::Tensor::random(graph.node(graph.inputs()[0]).type, random)};
  for (std::int64_t i = kHidden; i < inputs[0].elements(); ++i)
    inputs[0].set_f64(i, inputs[0].f64_at(i) + 2 * inputs[0].f64_at(i % kHidden));
  const std::vector<ir::Tensor> outputs = ir::interpret(normalized, inputs).value();
  const auto x = [&](std::size_t t, std::size_t h) {
    return outputs[1].f64_at(static_cast<std::int64_t>(t * kHidden + h));
  };
  std::vector<std::array<double, kExperts>> share(kTokens);
  std::vector<std::array<std::size_t, 2>> best(kTokens);
  for (std::size_t t = 0; t < kTokens; ++t) {
    double sum = 0;
    for (std::size_t e = 0; e < kExperts; ++e) {
      double logit = 0;
      for (std::size_t h = 0; h < kHidden; ++h) logit += x(t, h) * gate[h * kExperts + e];
      share[t][e] = std::exp(logit);
      sum += share[t][e];
    }
    for (double& s : share[t]) s /= sum;
    const auto first = std::ranges::max_element(share[t]) - share[t].begin();
    std::array<double, kExperts> rest = share[t];
    rest[static_cast<std::size_t>(first)] = -1;
    const auto second = std::ranges::max_element(rest) - rest.begin();
    best[t] = {static_cast<std::size_t>(first), static_cast<std::size_t>(second)};
  }
  std::vector<std::vector<double>> expected(kTokens, std::vector<double>(kHidden));
  std::array<std::size_t, kExperts> taken{};
  constexpr std::size_t kCapacity = 4;  // 1.25 x 2 x 12 / 8, rounded up
  std::size_t dropped = 0;
  for (std::size_t choice = 0; choice < 2; ++choice) {
    for (std::size_t t = 0; t < kTokens; ++t) {
      const std::size_t e = best[t][choice];
      if (taken[e]++ >= kCapacity) {
        ++dropped;
        continue;
      }
      const double weight = share[t][e] / (share[t][best[t][0]] + share[t][best[t][1]]);
      std::vector<double> inner(kInner);
      for (std::size_t f = 0; f < kInner; ++f) {
        for (std::size_t h = 0; h < kHidden; ++h)
          inner[f] += x(t, h) * up[(e * kHidden + h) * kInner + f];
        inner[f] = std::max(0.0, inner[f]);
      }
      for (std::size_t f = 0; f < kInner; ++f) {
        for (std::size_t h = 0; h < kHidden; ++h)
          expected[t][h] += weight * inner[f] * down[(e * kInner + f) * kHidden + h];
      }
    }
  }
  EXPECT_GT(dropped, 0U) << "the test must see a full expert";
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (std::size_t h = 0; h < kHidden; ++h) {
      const auto at = static_cast<std::int64_t>(t * kHidden + h);
      EXPECT_NEAR(outputs[0].f64_at(at), inputs[0].f64_at(at) + expected[t][h], 1e-4);
    }
  }
}

}  // namespace
}  // namespace egret::zoo

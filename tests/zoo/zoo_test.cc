// SPDX-License-Identifier: Apache-2.0
#include "zoo/zoo.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

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

TEST(Zoo, ShapesAreThoseOfThePapers) {
  EXPECT_EQ(output_type(build("inception-v3")), "f32[1,1000]");
  EXPECT_EQ(output_type(build("squeezenet1.1")), "f32[1,1000]");
  EXPECT_EQ(parameters(build("squeezenet1.1")), 1'235'496);
  EXPECT_EQ(parameters(build("squeezenet1.0")), 1'248'424);
  EXPECT_EQ(output_type(build("bert-taso")), "f32[64,1024]");
  EXPECT_EQ(output_type(build("resnext50-taso")), "f32[1,2048,7,7]");
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

}  // namespace
}  // namespace egret::zoo

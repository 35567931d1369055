// SPDX-License-Identifier: Apache-2.0
// Kernels that an engine names by the values of a file, as kernels of a graph.
#include "driver/engine/engine_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// conv -> relu -> (neg, abs -> relu)
struct Chain {
  ir::GraphBuilder b;
  ir::Value x = b.input("x", {ir::DType::kF32, {1, 4, 8, 8}});
  ir::Value w = b.constant(ir::Tensor::filled({ir::DType::kF32, {4, 4, 1, 1}}, 0.5));
  ir::Value twice = b.add("add", {w, w});  // of weights alone
  ir::Value conv = b.add("conv", {x, twice},
                         {{"strides", ir::Integers{1, 1}},
                          {"pads", ir::Integers{0, 0, 0, 0}},
                          {"dilations", ir::Integers{1, 1}},
                          {"group", 1}});
  ir::Value relu = b.add("relu", {conv});
  ir::Value neg = b.add("neg", {relu});
  ir::Value abs = b.add("abs", {relu});
  ir::Value last = b.add("relu", {abs});
  ir::Graph graph = [this] {
    b.output("y", neg);
    b.output("z", last);
    return b.finish().value();
  }();

  // In the order of the nodes: each value is called like its node's number.
  std::map<std::string, ir::NodeId> makers() const {
    std::map<std::string, ir::NodeId> all;
    for (std::size_t i = 0; i < graph.size(); ++i) all[std::to_string(i)] = ir::NodeId(i);
    return all;
  }
  ir::NodeId output(std::size_t i) const { return graph.outputs()[i].node; }
  ir::NodeId operand(ir::NodeId id) const { return graph.node(id).inputs[0]; }
  std::string name(ir::NodeId id) const { return std::to_string(id.index()); }
};

TEST(EngineKernels, HaveTheOperatorsBeforeTheirValue) {
  const Chain chain;
  const ir::NodeId neg = chain.output(0), last = chain.output(1);
  const ir::NodeId abs = chain.operand(last), relu = chain.operand(neg);
  const std::vector<EngineKernel> kernels{{"a", "Conv", {chain.name(relu)}, 3e-6},
                                          {"b", "Neg", {chain.name(neg)}, 1e-6},
                                          {"c", "Relu", {chain.name(last)}, 2e-6}};
  const auto found = kernels_of(chain.graph, chain.makers(), kernels);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_THAT(found[0].ids, ElementsAre(chain.operand(relu), relu));
  EXPECT_THAT(found[1].ids, ElementsAre(neg));
  EXPECT_THAT(found[2].ids, ElementsAre(abs, last));
  EXPECT_EQ(found[0].name, "Conv");
  EXPECT_DOUBLE_EQ(found[0].seconds, 3e-6);
}

TEST(EngineKernels, HaveWhatNoLaterOneNeeds) {
  const Chain chain;
  const ir::NodeId neg = chain.output(0), last = chain.output(1);
  const ir::NodeId abs = chain.operand(last);
  const std::vector<EngineKernel> kernels{{"b", "", {chain.name(neg)}, 1e-6},
                                          {"c", "Abs", {chain.name(abs)}, 2e-6}};
  const auto found = kernels_of(chain.graph, chain.makers(), kernels);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[1].ids, ::testing::Contains(last));
  EXPECT_EQ(found[0].name, "b");
}

TEST(EngineKernels, OfNoValueHaveNoNodes) {
  const Chain chain;
  const std::vector<EngineKernel> kernels{{"Reorder", "Reorder", {}, 1e-6},
                                          {"x", "X", {"a value of a body"}, 1e-6}};
  for (const auto& kernel : kernels_of(chain.graph, chain.makers(), kernels))
    EXPECT_THAT(kernel.ids, IsEmpty());
}

TEST(EngineKernels, AreReadFromAnAnswer) {
  const auto good = base::Json::parse(
      R"({"ok": true, "kernels": [{"name": "n", "type": "Conv", "values": ["a", "b"], "seconds": 0.5}]})");
  const auto kernels = kernels_in(*good);
  ASSERT_TRUE(kernels.ok());
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_THAT(kernels->front().values, ElementsAre("a", "b"));
  EXPECT_DOUBLE_EQ(kernels->front().seconds, 0.5);
  for (const char* text :
       {R"({"ok": true})", R"({"kernels": 3})", R"({"kernels": [{"name": "n"}]})",
        R"({"kernels": [{"name": "n", "values": [], "seconds": "x"}]})"}) {
    const auto bad = base::Json::parse(text);
    EXPECT_FALSE(kernels_in(*bad).ok()) << text;
  }
}

}  // namespace
}  // namespace egret::driver

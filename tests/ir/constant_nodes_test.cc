// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/constant_nodes.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"

namespace egret::ir {
namespace {

struct Example {
  GraphBuilder builder;
  Value x, weights, folded, result;
};

// result = x + -weights
Example example() {
  Example e;
  const TensorType type(DType::kF32, {2});
  e.x = e.builder.input("x", type);
  e.weights = e.builder.constant(Tensor::filled(type, 3));
  e.folded = e.builder.add("neg", {e.weights});
  e.result = e.builder.add("add", {e.x, e.folded});
  return e;
}

TEST(ConstantNodes, AreThoseThatReadNoInput) {
  Example e = example();
  EXPECT_EQ(constant_nodes(e.builder.graph()), (std::vector<bool>{false, true, true, false}));
}

TEST(ConstantNodes, StopAtAnOperatorThatIsNotAdmitted) {
  Example e = example();
  e.builder.add("abs", {e.folded});
  const auto admits = [](const Node& node) { return node.op->name() != "neg"; };
  EXPECT_EQ(constant_nodes(e.builder.graph(), admits),
            (std::vector<bool>{false, true, false, false, false}));
}

TEST(ConstantNodes, OfAGrowingGraphAreExtended) {
  Example e = example();
  std::vector<bool> constant = constant_nodes(e.builder.graph());
  e.builder.add("abs", {e.folded});
  e.builder.add("abs", {e.result});
  extend_constant_nodes(e.builder.graph(), constant);
  EXPECT_EQ(constant, constant_nodes(e.builder.graph()));
  EXPECT_EQ(constant, (std::vector<bool>{false, true, true, false, true, false}));
}

TEST(ConstantNodes, AreReplacedByTheirValues) {
  Example e = example();
  Graph graph = e.builder.graph();
  graph.add_output("y", NodeId(3));
  const TensorType type(DType::kF32, {2});
  const Graph with = with_constants(graph, {{NodeId(2), Tensor::filled(type, -3)}});
  ASSERT_TRUE(with.check_invariants().ok());
  EXPECT_EQ(with.size(), graph.size());
  EXPECT_EQ(with.node(NodeId(2)).data.f64_at(1), -3);
  const Graph live = without_dead_nodes(with);
  EXPECT_EQ(live.size(), 3U);  // the weights are gone
  EXPECT_EQ(live.operator_count(), 1U);
}

}  // namespace
}  // namespace egret::ir

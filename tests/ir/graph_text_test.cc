// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/graph_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "ir/graph/builder.h"
#include "ir/graph/graph_dot.h"

namespace egret::ir {
namespace {

Graph sample() {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, Dims{symbolic_dim("N"), 4}});
  base::Random random(7);
  const Value w = b.constant(Tensor::random({DType::kF32, {4, 3}}, random), "w");
  const double values[] = {0.1, -0.0, std::numeric_limits<double>::infinity()};
  const std::int64_t shape[] = {3};
  const Value bias = b.constant(Tensor::of(DType::kF32, shape, values));
  const Value sum = b.add("add", {b.add("matmul", {x, w}), bias});
  b.set_name(sum, "a \"quoted\"\nname");
  b.add("relu", {sum});  // dead
  b.output("y", b.add("softmax", {sum}, {{"axis", 1}}));
  Graph graph = *b.finish();
  graph.name = "sample";
  graph.metadata["producer"] = "test \\ 1";
  return graph;
}

TEST(GraphText, ReadsAsWritten) {
  const std::string text = to_text(sample());
  EXPECT_EQ(text, R"(egret-graph 1
name "sample"
meta "producer" = "test \\ 1"
%0 = input "x" : f32[N,4]
%1 = constant #)" + sample().node(NodeId(1)).data.content_hash().to_hex() +
                      R"( "w" : f32[4,3]
%2 = constant {0.1, -0, inf} : f32[3]
%3 = matmul(%0, %1) : f32[N,3]
%4 = add(%3, %2) "a \"quoted\"\nname" : f32[N,3]
%5 = relu(%4) : f32[N,3]
%6 = softmax(%4) {axis=1} : f32[N,3]
output "y" = %6
)");
}

TEST(GraphText, RoundTripsExactly) {
  const Graph graph = sample();
  for (const std::int64_t inlined : {0, 8, 100}) {
    const GraphTextOptions options{.inline_elements = inlined};
    const std::string text = to_text(graph, options);
    const auto back = parse_graph(text, constant_data(graph, options));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(to_text(*back, options), text);
    EXPECT_TRUE(back->check_invariants().ok());
    EXPECT_EQ(back->metadata, graph.metadata);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      EXPECT_EQ(back->node(NodeId(i)).type, graph.node(NodeId(i)).type);
      EXPECT_EQ(back->node(NodeId(i)).name, graph.node(NodeId(i)).name);
      if (graph.node(NodeId(i)).kind != NodeKind::kConstant) continue;
      EXPECT_EQ(back->node(NodeId(i)).data.content_hash(),
                graph.node(NodeId(i)).data.content_hash());
    }
  }
}

TEST(GraphText, WritesEveryElementTypeExactly) {
  for (int code = 0; code < kDTypeCount; ++code) {
    const auto dtype = static_cast<DType>(code);
    base::Random random(static_cast<std::uint64_t>(code) + 1);
    GraphBuilder b;
    Tensor tensor = Tensor::random({dtype, {16}}, random);
    tensor.set_i64(0, -1);
    const Value c = b.constant(tensor);
    b.output("y", c);
    const Graph graph = *b.finish();
    const GraphTextOptions options{.inline_elements = 100};
    EXPECT_TRUE(constant_data(graph, options).empty());
    const auto back = parse_graph(to_text(graph, options));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(back->node(NodeId(0)).data.content_hash(), tensor.content_hash()) << to_string(dtype);
  }
}

TEST(GraphText, KeepsSymbolicSizesOfAnyName) {
  const Index n = symbolic_dim("batch size");
  const Index h = symbolic_dim("H");
  for (const TensorType& type :
       {TensorType(DType::kF32, Dims{n, h * 2 + 1, div(h, 2), min(n, h) * (h + n)}),
        TensorType(DType::kI8, Dims{mod(h - n, 4), max(h, 3)}), TensorType(DType::kF64, Dims{})}) {
    const auto back = parse_type(to_string(type));
    ASSERT_TRUE(back.ok()) << to_string(type) << ": " << back.status().message();
    EXPECT_EQ(*back, type) << to_string(*back);
  }
}

std::string error_of(std::string_view text) {
  const auto graph = parse_graph(text);
  return graph.ok() ? "parsed" : graph.status().message();
}

TEST(GraphText, LocatesErrors) {
  EXPECT_EQ(error_of(""), "line 1, column 1: 'egret-graph' expected");
  EXPECT_EQ(error_of("egret-graph 2"), "line 1, column 13: only version 1 is known");
  EXPECT_EQ(error_of("egret-graph 1\nnode"),
            "line 2, column 1: %NODE, name, meta or output expected");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = input \"x\" : f31[2]"),
            "line 2, column 18: there is no element type 'f31'");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = input \"x\" : f32[-2]"),
            "line 2, column 22: a size that is negative or too large");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = input \"x\" : f32[2]\n%1 = bogus(%0)"),
            "line 3, column 6: there is no operator 'bogus'");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = input \"x\" : f32[2]\n%1 = relu(%2)"),
            "line 3, column 12: there is no node %2 above");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = input \"x\" : f32[2]\n%1 = relu(%0) : f32[3]"),
            "line 3, column 17: the operator gives f32[2], not f32[3]");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = input \"x\" : f32[2]\n%1 = relu(%0, %0)"),
            "line 3, column 1: relu: takes 1 inputs, not 2");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = input \"x\" : f32[2]\n%0 = relu(%0)"),
            "line 3, column 1: there are two nodes %0");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = constant {1, 2} : f32[3]"),
            "line 2, column 15: 2 elements for f32[3]");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = constant {1, 300} : u8[2]"),
            "line 2, column 15: '300' is no u8");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = constant #abc : f32[3]"),
            "line 2, column 15: there is no data for constant #abc");
  EXPECT_EQ(error_of("egret-graph 1\n// fine\nname \"open"),
            "line 3, column 6: unterminated quoted text");
}

TEST(GraphText, RefusesDeepNestingAndHugeSizes) {
  const std::string deep(100000, '(');
  EXPECT_EQ(error_of("egret-graph 1\n%0 = input \"x\" : f32[" + deep),
            "line 2, column 121: a size that is nested too deep");
  EXPECT_EQ(error_of("egret-graph 1\n%0 = input \"x\" : f32[4611686018427387904,8]"),
            "line 2, column 42: a size that is negative or too large");
}

TEST(GraphDot, ShowsOperatorsAndTypes) {
  const std::string dot = to_dot(sample());
  EXPECT_NE(dot.find("digraph \"sample\""), std::string::npos);
  EXPECT_NE(dot.find("n6 [shape=box label=\"softmax\\naxis = 1\"]"), std::string::npos) << dot;
  EXPECT_NE(dot.find("n3 -> n4 [label=\"f32[N,3]\"]"), std::string::npos);
  EXPECT_EQ(dot.find("note"), std::string::npos);
  EXPECT_NE(to_dot(sample(), {.constants = true}).find("n1 [shape=note label=\"w\"]"),
            std::string::npos);
}

}  // namespace
}  // namespace egret::ir

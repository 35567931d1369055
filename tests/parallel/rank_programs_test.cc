// SPDX-License-Identifier: Apache-2.0
#include "parallel/ranks/rank_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>

#include "base/stop.h"
#include "ir/evaluate/interpreter.h"
#include "ir/ops/opaque.h"
#include "parallel/placed/sequential_program.h"
#include "tests/parallel/model.h"

namespace egret::parallel {
namespace {

using ir::NodeId;
using ir::Value;
using ::testing::HasSubstr;
using Kind = RankCollective::Kind;

// What a rank runs of a placed program, as another tool would write it.
RankProgram program_of(const PlacedGraph& placed, std::int64_t rank) {
  RankProgram program;
  for (std::size_t i = 0; i < placed.nodes.size(); ++i) {
    const PlacedNode& node = placed.nodes[i];
    ir::Node made{.op = node.op, .attrs = node.part_attrs, .type = node.type, .name = node.name};
    for (const std::size_t input : node.inputs) made.inputs.emplace_back(input);
    if (node.kind == PlacedNode::Kind::kInput) made.kind = ir::NodeKind::kInput;
    if (node.kind == PlacedNode::Kind::kConstant) {
      made.kind = ir::NodeKind::kConstant;
      made.data = block_of(node.data, node.placement, placed.mesh, rank);
    }
    if (node.kind == PlacedNode::Kind::kCollective) {
      made.op = &ir::opaque_output();
      RankCollective step{.axis = placed.mesh.axis(node.collective.axis).name};
      const std::string_view name = name_of(node.collective);
      step.maximum = node.collective.from.kind == AxisPlacement::Kind::kMax;
      step.dim = node.collective.to.is_split() ? node.collective.to.dim : node.collective.from.dim;
      step.from_dim = name == "all_to_all" ? node.collective.from.dim : 0;
      step.kind = name == "all_reduce"       ? Kind::kAllReduce
                  : name == "all_gather"     ? Kind::kAllGather
                  : name == "reduce_scatter" ? Kind::kReduceScatter
                  : name == "all_to_all"     ? Kind::kAllToAll
                                             : Kind::kSlice;
      program.collectives.emplace(NodeId(i), step);
    }
    program.graph.append(std::move(made));
  }
  for (const auto& output : placed.outputs)
    program.graph.add_output(output.name, NodeId(output.node));
  return program;
}

std::vector<RankProgram> programs_of(const PlacedGraph& placed) {
  std::vector<RankProgram> ranks;
  for (std::int64_t rank = 0; rank < placed.mesh.ranks(); ++rank)
    ranks.push_back(program_of(placed, rank));
  return ranks;
}

// Two rows of products with weights, and a softmax over a dimension of another reshape.
ir::Graph attention(std::int64_t heads) {
  Model m;
  const Value x = m.input("x", {2, 8, 32});
  const auto split = [&](Value value) {
    return m("transpose",
             {m("reshape", {value}, {{"shape", ir::Integers{2, 8, heads, 32 / heads}}})},
             {{"perm", ir::Integers{0, 2, 1, 3}}});
  };
  const Value q = split(m("matmul", {x, m.weight("q", {32, 32})}));
  const Value k = split(m("matmul", {x, m.weight("k", {32, 32})}));
  const Value v = split(m("matmul", {x, m.weight("v", {32, 32})}));
  const Value scores = m("matmul", {q, m("transpose", {k}, {{"perm", ir::Integers{0, 1, 3, 2}}})});
  const Value mixed = m("matmul", {m("softmax", {scores}, {{"axis", 3}}), v});
  const Value joined = m("reshape", {m("transpose", {mixed}, {{"perm", ir::Integers{0, 2, 1, 3}}})},
                         {{"shape", ir::Integers{2, 8, 32}}});
  return m.finish(m("add", {x, m("matmul", {joined, m.weight("o", {32, 32})})}));
}

PlacedGraph planned(const ir::Graph& graph, std::string_view mesh, const std::string& strategy) {
  ParallelPlanOptions options;
  options.strategy = strategy;
  auto plan = plan_of(graph, machine_of(mesh), options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? std::move(plan->program) : PlacedGraph();
}

std::vector<ir::Tensor> drawn_inputs(const ir::Graph& graph) {
  base::Random random(3);
  std::vector<ir::Tensor> inputs;
  for (const NodeId id : graph.inputs())
    inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
  return inputs;
}

// "" if the ranks' programs are a placed program, and what place() says otherwise.
std::string error_of(const std::vector<RankProgram>& ranks, const Mesh& mesh,
                     const ir::Graph& sequential, const NamedPlacements& given = {}) {
  const auto placed = place(ranks, mesh, sequential, given);
  return placed.ok() ? "" : placed.status().message();
}

TEST(RankPrograms, ArePlacedAsTheirAuthorPlannedThem) {
  struct Row {
    ir::Graph graph;
    std::string mesh;
    std::string strategy;
  };
  const Row rows[] = {{mlp(8, 64, 256), "x=4", "tensor"},
                      {mlp(8, 64, 256), "x=4", "data"},
                      {attention(4), "x=2", "tensor"},
                      {attention(8), "x=2,y=2", "tensor"},
                      {mlp(8, 64, 256), "x=2,y=2", "any"}};
  for (const auto& [graph, mesh, strategy] : rows) {
    SCOPED_TRACE(mesh + " " + strategy);
    const PlacedGraph planned_graph = planned(graph, mesh, strategy);
    const auto placed = place(programs_of(planned_graph), planned_graph.mesh, graph, {});
    ASSERT_TRUE(placed.ok()) << placed.status().message();
    ASSERT_EQ(placed->nodes.size(), planned_graph.nodes.size());
    for (std::size_t i = 0; i < placed->nodes.size(); ++i) {
      EXPECT_EQ(placed->nodes[i].placement, planned_graph.nodes[i].placement) << i;
      EXPECT_EQ(placed->nodes[i].attrs, planned_graph.nodes[i].attrs) << i;
      EXPECT_EQ(placed->nodes[i].whole, planned_graph.nodes[i].whole) << i;
    }
    const auto whole = sequential_program(*placed);
    ASSERT_TRUE(whole.ok()) << whole.status().message();
    const std::vector<ir::Tensor> inputs = drawn_inputs(graph);
    const auto expected = ir::interpret(graph, inputs);
    const auto found = ir::interpret(*whole, inputs);
    ASSERT_TRUE(expected.ok() && found.ok());
    for (std::int64_t i = 0; i < (*expected)[0].elements(); ++i)
      ASSERT_NEAR((*found)[0].f64_at(i), (*expected)[0].f64_at(i), 1e-6);
  }
}

// A product of rows, whose sum is exchanged before the bias.
class WrongRanks : public ::testing::Test {
 protected:
  WrongRanks() : graph_(mlp(8, 64, 256)), placed_(planned(graph_, "x=4", "tensor")) {
    ranks_ = programs_of(placed_);
    for (std::size_t i = 0; i < placed_.nodes.size(); ++i) {
      if (placed_.nodes[i].kind == PlacedNode::Kind::kCollective) exchange_ = NodeId(i);
    }
  }

  std::string error() const { return error_of(ranks_, placed_.mesh, graph_); }
  NodeId weight(const std::string& name) const {
    for (std::size_t i = 0; i < placed_.nodes.size(); ++i) {
      if (placed_.nodes[i].name == name) return NodeId(i);
    }
    return {};
  }
  // Every rank's program, rewritten node by node; nodes keep their order, and `change` may append.
  using Change =
      std::function<NodeId(ir::Graph& graph, NodeId old, const ir::Node& node, RankProgram& made)>;
  void rewrite(const Change& change) {
    for (RankProgram& rank : ranks_) {
      RankProgram made;
      std::vector<NodeId> moved;
      for (std::size_t i = 0; i < rank.graph.size(); ++i) {
        ir::Node node = rank.graph.node(NodeId(i));
        for (NodeId& input : node.inputs) input = moved[input.index()];
        const auto step = rank.collectives.find(NodeId(i));
        if (step != rank.collectives.end())
          made.collectives.emplace(NodeId(made.graph.size()), step->second);
        moved.push_back(change(made.graph, NodeId(i), node, made));
      }
      for (const auto& output : rank.graph.outputs())
        made.graph.add_output(output.name, moved[output.node.index()]);
      rank = std::move(made);
    }
  }

  ir::Graph graph_;
  PlacedGraph placed_;
  std::vector<RankProgram> ranks_;
  NodeId exchange_;
};

TEST_F(WrongRanks, AreAcceptedAsTheyAre) {
  ASSERT_TRUE(exchange_.valid());
  EXPECT_EQ(error(), "");
}

TEST_F(WrongRanks, LackAnExchange) {
  rewrite([&](ir::Graph& graph, NodeId old, const ir::Node& node, RankProgram& made) {
    if (old != exchange_) return graph.append(node);
    made.collectives.clear();
    return node.inputs.front();
  });
  EXPECT_EQ(error(), "output 'y': it is left as partial results, x:P(sum)");
}

TEST_F(WrongRanks, ExchangeTwice) {
  rewrite([&](ir::Graph& graph, NodeId old, ir::Node node, RankProgram& made) {
    const NodeId first = graph.append(node);
    if (old != exchange_) return first;
    node.inputs = {first};
    made.collectives.emplace(NodeId(graph.size()), made.collectives.at(first));
    return graph.append(node);
  });
  EXPECT_THAT(error(), HasSubstr("it changes P(sum) to R along the axis 'x', and what it reads is "
                                 "x:R"));
}

TEST_F(WrongRanks, CompareInsteadOfAdding) {
  for (RankProgram& rank : ranks_) rank.collectives.at(exchange_).maximum = true;
  EXPECT_THAT(error(), HasSubstr("it changes P(max) to R"));
}

TEST_F(WrongRanks, ExchangeInAnotherOrder) {
  for (RankProgram& rank : ranks_) {
    rank.collectives.at(exchange_).axis.clear();
    rank.collectives.at(exchange_).group = {0, 1, 2, 3};
  }
  EXPECT_EQ(error(), "");
  for (RankProgram& rank : ranks_) rank.collectives.at(exchange_).group = {1, 0, 2, 3};
  EXPECT_THAT(error(), HasSubstr("rank 0 exchanges with ranks 1, 0, 2, 3 in this order, and along "
                                 "the axis 'x' they are 0, 1, 2, 3"));
  for (RankProgram& rank : ranks_) rank.collectives.at(exchange_).group = {0, 1};
  EXPECT_THAT(error(), HasSubstr("rank 2 is not in its group 0, 1"));
  for (const std::size_t rank : {2U, 3U}) ranks_[rank].collectives.at(exchange_).group = {2, 3};
  EXPECT_THAT(error(), HasSubstr("the group of ranks 0, 1 is no axis of x=4"));
}

TEST_F(WrongRanks, HoldOtherBlocksOfAWeight) {
  const NodeId weight_of = weight("w1");
  const auto put = [&](std::size_t rank, const ir::Tensor& data) {
    RankProgram made;
    for (std::size_t i = 0; i < ranks_[rank].graph.size(); ++i) {
      ir::Node node = ranks_[rank].graph.node(NodeId(i));
      if (NodeId(i) == weight_of) node.data = data;
      made.graph.append(std::move(node));
    }
    for (const auto& output : ranks_[rank].graph.outputs())
      made.graph.add_output(output.name, output.node);
    made.collectives = ranks_[rank].collectives;
    ranks_[rank] = std::move(made);
  };
  const ir::Tensor first = ranks_[0].graph.node(weight_of).data;
  const ir::Tensor second = ranks_[1].graph.node(weight_of).data;
  put(1, first);
  EXPECT_EQ(error(), "'w1': what the ranks hold are not the blocks of this weight");
  put(0, second);
  EXPECT_EQ(error(), "'w1': what the ranks hold are not the blocks of this weight");
  for (std::size_t rank = 0; rank < 4; ++rank) put(rank, first);
  EXPECT_EQ(error(), "'w1': what the ranks hold are not the blocks of this weight");
}

TEST_F(WrongRanks, ApplyAnActivationToPartialSums) {
  rewrite([&](ir::Graph& graph, NodeId old, ir::Node node, RankProgram& made) {
    if (old != exchange_) return graph.append(node);
    made.collectives.clear();
    ir::Node relu{.op = ir::find_operator("relu"), .inputs = node.inputs, .type = node.type};
    relu.name = "early";
    node.inputs = {graph.append(relu)};
    made.collectives.emplace(NodeId(graph.size()), RankCollective{.axis = "x"});
    return graph.append(node);
  });
  EXPECT_THAT(error(), HasSubstr("relu 'early': no law makes this a part of a value of the whole "
                                 "program; it reads f32[8,64] under x:P(sum)"));
}

TEST_F(WrongRanks, DoDifferentThings) {
  const auto change = [&](std::size_t rank) {
    RankProgram& program = ranks_[rank];
    program.collectives.at(exchange_).kind = Kind::kReduceScatter;
  };
  change(2);
  EXPECT_THAT(error(), HasSubstr("rank 2: exchange"));
  ranks_.pop_back();
  EXPECT_EQ(error(), "3 programs for the 4 ranks of x=4");
}

TEST_F(WrongRanks, ReadAnInputThatDoesNotExist) {
  rewrite([&](ir::Graph& graph, NodeId, ir::Node node, RankProgram&) {
    if (node.name == "x") node.name = "y";
    return graph.append(node);
  });
  EXPECT_EQ(error(), "'y': the model has no input of this name");
}

// A rank's program with other names, node by node in the same order.
RankProgram renamed(const RankProgram& rank, const std::map<std::string, std::string>& names) {
  const auto name_of = [&](const std::string& old) {
    const auto found = names.find(old);
    return found == names.end() ? old : found->second;
  };
  RankProgram made;
  for (ir::Node node : rank.graph.nodes()) {
    node.name = name_of(node.name);
    made.graph.append(std::move(node));
  }
  for (const auto& output : rank.graph.outputs())
    made.graph.add_output(name_of(output.name), output.node);
  made.collectives = rank.collectives;
  return made;
}

// x - y and x * y.
ir::Graph two_of_two(std::int64_t rows) {
  ir::GraphBuilder b;
  const Value x = b.input("x", {ir::DType::kF32, {rows, 4}});
  const Value y = b.input("y", {ir::DType::kF32, {rows, 4}});
  b.output("a", b.add("sub", {x, y}));
  b.output("b", b.add("mul", {x, y}));
  return b.finish().value();
}

TEST(RankPrograms, AreKnownByTheNamesOfInputsAndOutputs) {
  const Mesh mesh = Mesh::parse("x=2").value();
  const ir::Graph graph = two_of_two(4);
  const RankProgram own{graph, {}};
  const RankProgram inputs = renamed(own, {{"x", "y"}, {"y", "x"}});
  const RankProgram outputs = renamed(own, {{"a", "b"}, {"b", "a"}});
  const auto code = [&](const RankProgram& first, const RankProgram& second) {
    const std::vector<RankProgram> ranks{first, second};
    return place(ranks, mesh, graph, {}).status().code();
  };
  EXPECT_EQ(code(own, own), base::StatusCode::kOk);
  EXPECT_EQ(code(own, inputs), base::StatusCode::kUnsupported);
  EXPECT_EQ(code(own, outputs), base::StatusCode::kUnsupported);
  EXPECT_EQ(code(outputs, outputs), base::StatusCode::kMismatch);
  EXPECT_EQ(error_of({outputs, outputs}, mesh, graph),
            "the outputs are 'b', 'a', and those of the model 'a', 'b'");
}

TEST(RankPrograms, LeaveOutputsWholeUnlessBlocksAreNamed) {
  const Mesh mesh = Mesh::parse("x=2").value();
  const std::vector<RankProgram> ranks(2, {two_of_two(2), {}});
  const auto unnamed = place(ranks, mesh, two_of_two(4), {});
  EXPECT_EQ(unnamed.status().code(), base::StatusCode::kMismatch);
  EXPECT_EQ(unnamed.status().message(),
            "output 'a': a rank leaves f32[2,4], and x:R of f32[4,4] is f32[4,4]; a placement must "
            "be named for blocks");
  const Placement rows = *Placement::parse("x:S(0)", mesh);
  EXPECT_EQ(error_of(ranks, mesh, two_of_two(4), {{"a", rows}, {"b", rows}}), "");
}

// NAME.next is read as NAME in the next step.
TEST(RankPrograms, LeaveTheNextValueOfAnInputAsTheInput) {
  const auto step = [](std::int64_t rows) {
    ir::GraphBuilder b;
    const Value w = b.input("w", {ir::DType::kF32, {rows, 4}});
    b.output("w.next", b.add("neg", {w}));
    return b.finish().value();
  };
  const Mesh mesh = Mesh::parse("x=2").value();
  const auto placed =
      place(std::vector<RankProgram>(2, {step(2), {}}), mesh, step(4), NamedPlacements());
  ASSERT_TRUE(placed.ok()) << placed.status().message();
  EXPECT_EQ(to_string(placed->nodes[placed->outputs[0].node].placement, mesh), "x:S(0)");
}

// Integers that f64 rounds to one number.
TEST(RankPrograms, TellLargeIntegersApart) {
  const auto large = [](std::int64_t last) {
    ir::Tensor tensor({ir::DType::kI64, {2}});
    tensor.set_i64(0, std::int64_t{1} << 53);
    tensor.set_i64(1, last);
    return tensor;
  };
  const auto code = [&](std::int64_t last) {
    const Mesh mesh = Mesh::parse("x=2").value();
    Model m;
    const Value x = m.input("x", {4}, ir::DType::kI64);
    ir::Tensor all({ir::DType::kI64, {4}});
    for (std::int64_t i = 0; i < 4; ++i) all.set_i64(i, std::int64_t{1} << 53);
    const ir::Graph graph = m.finish(m("add", {x, m.constant(all)}));
    Model part;
    const Value half = part.input("x", {2}, ir::DType::kI64);
    const std::vector<RankProgram> ranks(
        2, {part.finish(part("add", {half, part.constant(large(last))})), {}});
    const auto placed = place(ranks, mesh, graph, {{"y", *Placement::parse("x:S(0)", mesh)}});
    return placed.status().code();
  };
  EXPECT_EQ(code(std::int64_t{1} << 53), base::StatusCode::kOk);
  EXPECT_EQ(code((std::int64_t{1} << 53) + 1), base::StatusCode::kUnsupported);
}

TEST_F(WrongRanks, AreNotDecidedWhenAStopIsRequested) {
  base::request_stop(2);
  const auto placed = place(ranks_, placed_.mesh, graph_, {});
  base::request_stop(0);
  EXPECT_EQ(placed.status().code(), base::StatusCode::kLimit);
}

// An exchange along an axis of one device changes nothing.
TEST_F(WrongRanks, MayExchangeWithThemselves) {
  for (RankProgram& rank : ranks_) rank.collectives.at(exchange_).axis = "y";
  const Mesh wide = Mesh::parse("x=4,y=1").value();
  EXPECT_THAT(error_of(ranks_, wide, graph_), HasSubstr("it is left as partial results"));
  rewrite([&](ir::Graph& graph, NodeId old, ir::Node node, RankProgram& made) {
    const NodeId first = graph.append(node);
    if (old != exchange_) return first;
    made.collectives.at(first).axis = "x";
    node.inputs = {first};
    made.collectives.emplace(NodeId(graph.size()), RankCollective{.axis = "y", .size = 1});
    return graph.append(node);
  });
  EXPECT_EQ(error_of(ranks_, wide, graph_), "");
}

// A mesh of many axes has more placements than can be tried.
TEST(RankPrograms, OnMeshesOfManyAxesEnd) {
  std::string axes;
  for (int i = 0; i < 20; ++i) axes += (i > 0 ? ",a" : "a") + std::to_string(i) + "=2";
  const Mesh mesh = Mesh::parse(axes).value();
  const std::int64_t whole = 1 << 20;
  const auto graph = [](std::int64_t size) {
    Model m;
    return m.finish(m("relu", {m.input("x", {size, size, size})}));
  };
  const std::vector<RankProgram> ranks(1, {graph(1 << 10), {}});
  EXPECT_EQ(place(ranks, mesh, graph(whole), {}).status().code(), base::StatusCode::kUnsupported);
}

// Sizes alone do not say which of two equal axes cut an input.
TEST(RankPrograms, AskForPlacementsThatSizesDoNotShow) {
  Model m;
  const Value x = m.input("x", {8, 8});
  const ir::Graph graph = m.finish(m("relu", {x}));
  Model part;
  const Value half = part.input("x", {4, 8});
  const std::vector<RankProgram> ranks(1, {part.finish(part("relu", {half})), {}});
  const Mesh mesh = Mesh::parse("a=2,b=2").value();
  const auto unnamed = place(ranks, mesh, graph, {});
  ASSERT_FALSE(unnamed.ok());
  EXPECT_THAT(unnamed.status().message(),
              HasSubstr("its sizes do not say whether its placement is a:S(0),b:R or a:R,b:S(0)"));
  const Placement half_of_b = *Placement::parse("b:S(0)", mesh);
  const auto named = place(ranks, mesh, graph, {{"x", half_of_b}, {"y", half_of_b}});
  ASSERT_TRUE(named.ok()) << named.status().message();
  EXPECT_EQ(to_string(named->nodes.back().placement, mesh), "a:R,b:S(0)");
}

// Elements that are all equal are a block of any tensor of such elements, and others are not.
TEST(RankPrograms, HaveBlocksOfUniformConstants) {
  const Mesh mesh = Mesh::parse("x=2").value();
  const auto error = [&](double last) {
    Model m;
    const Value twos = m.constant(ir::Tensor::filled({ir::DType::kF32, {8, 4}}, 2));
    const ir::Graph graph = m.finish(m("mul", {m.input("x", {8, 4}), twos}));
    Model part;
    ir::Tensor block = ir::Tensor::filled({ir::DType::kF32, {4, 4}}, 2);
    block.set_f64(15, last);
    const Value held = part.constant(block);
    const std::vector<RankProgram> ranks(
        1, {part.finish(part("mul", {part.input("x", {4, 4}), held})), {}});
    return error_of(ranks, mesh, graph, {{"y", *Placement::parse("x:S(0)", mesh)}});
  };
  EXPECT_EQ(error(2), "");
  EXPECT_THAT(error(3), HasSubstr("no law"));
}

// A mean of each rank's rows, and a softmax of each rank's columns, are no parts of the whole's.
TEST(RankPrograms, HaveNoLawForLocalMeansAndSoftmaxes) {
  const Mesh mesh = Mesh::parse("x=2").value();
  const auto error = [&](const char* op, const ir::Attrs& attrs) {
    Model m;
    const ir::Graph graph = m.finish(m(op, {m.input("x", {8, 8})}, attrs));
    Model part;
    const std::vector<RankProgram> ranks(
        1, {part.finish(part(op, {part.input("x", {8, 4})}, attrs)), {}});
    NamedPlacements given;
    if (std::string_view(op) == "softmax") given["y"] = *Placement::parse("x:S(1)", mesh);
    return error_of(ranks, mesh, graph, given);
  };
  EXPECT_THAT(error("softmax", {{"axis", 1}}), HasSubstr("no law"));
  EXPECT_EQ(error("softmax", {{"axis", 0}}), "");
  EXPECT_THAT(error("reduce_mean", {{"axes", ir::Integers{1}}, {"keepdims", 1}}),
              HasSubstr("no law"));
}

}  // namespace
}  // namespace egret::parallel

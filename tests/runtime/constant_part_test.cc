// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/constant_part.h"

#include <gtest/gtest.h>

#include "ir/evaluate/interpreter.h"
#include "tests/runtime/ranks.h"

namespace egret::runtime {
namespace {

using namespace parallel;

using Kind = PlacedNode::Kind;

// Builds a graph on the mesh x=2.
class Writer {
 public:
  std::size_t leaf(Kind kind, const char* name, const Placement& placement) {
    PlacedNode node{.kind = kind, .name = name};
    node.whole = {ir::DType::kF32, {4, 4}};
    if (kind == Kind::kConstant) node.data = ir::Tensor::random(node.whole, random_);
    return add(std::move(node), placement);
  }
  std::size_t op(const char* name, std::vector<std::size_t> inputs, const Placement& placement) {
    PlacedNode node{.op = ir::find_operator(name), .inputs = std::move(inputs)};
    node.whole = graph.nodes[node.inputs.front()].whole;
    return add(std::move(node), placement);
  }
  std::size_t move(std::size_t from, const Placement& placement) {
    PlacedNode node{.kind = Kind::kCollective, .inputs = {from}};
    node.collective = {0, graph.nodes[from].placement.along(0), placement.along(0)};
    node.whole = graph.nodes[from].whole;
    return add(std::move(node), placement);
  }

  PlacedGraph graph{.mesh = Mesh::parse("x=2").value(), .nodes = {}, .outputs = {}};

 private:
  std::size_t add(PlacedNode node, const Placement& placement) {
    node.placement = placement;
    node.type = local_type(node.whole, placement, graph.mesh).value();
    graph.nodes.push_back(std::move(node));
    return graph.nodes.size() - 1;
  }

  base::Random random_{7};
};

Placement on_x(const AxisPlacement& placement) { return Placement(1).with(0, placement); }

struct Sent {
  double before = 0;
  double in_runs = 0;
};

// Compares what two ranks compute, twice, with interpret().
Sent run_twice(const PlacedGraph& graph) {
  EXPECT_TRUE(check(graph).ok()) << check(graph).message();
  base::Random random(5);
  const std::vector<ir::Tensor> inputs{ir::Tensor::random({ir::DType::kF32, {4, 4}}, random)};
  const auto expected = interpret(graph, inputs).value();
  Post before;
  Post runs;
  Post after;
  on_all_ranks(graph.mesh, [&](std::int64_t rank) {
    const auto run_graph = [](const ir::Graph& segment, std::span<const ir::Tensor> values) {
      return ir::interpret(segment, values, {.precision = ir::Precision::kF32});
    };
    const HeldBlocks known = exchange_constants(graph, rank, run_graph, before.of(rank)).value();
    const RankProgram program = rank_program(graph, rank, known).value();
    const std::vector<const ir::Graph*> graphs = program.graphs();
    const auto run = [&](std::size_t i, std::span<const ir::Tensor> values) {
      return run_graph(*graphs[i], values);
    };
    const auto held = held_inputs(graph, rank, inputs).value();
    for (int i = 0; i < 2; ++i) {
      const auto results = run_rank(graph, program, held, run, runs.of(rank)).value();
      const auto wholes = gathered_outputs(graph, rank, results, after.of(rank)).value();
      for (std::size_t k = 0; k < wholes.size(); ++k) {
        for (std::int64_t e = 0; e < wholes[k].elements(); ++e)
          EXPECT_NEAR(wholes[k].f64_at(e), expected[k].f64_at(e), 1e-6);
      }
    }
  });
  return {before.bytes_sent(), runs.bytes_sent()};
}

constexpr double kWhole = 4 * 4 * 4;

// A weight is gathered, goes through an operator and is cut again: before the first run. What the
// operators make of it and the input is gathered in each.
TEST(ConstantPart, IsExchangedOnce) {
  Writer w;
  const Placement rows = on_x(AxisPlacement::split(0));
  const Placement columns = on_x(AxisPlacement::split(1));
  const Placement copy = on_x(AxisPlacement::copy());
  const std::size_t x = w.leaf(Kind::kInput, "x", columns);
  const std::size_t weight = w.leaf(Kind::kConstant, "w", rows);
  const std::size_t whole = w.op("exp", {w.move(weight, copy)}, copy);
  const std::size_t sum = w.op("add", {x, w.move(whole, columns)}, columns);
  w.graph.outputs = {{"y", w.move(sum, copy)}};

  const ConstantPart part = constant_part(w.graph);
  ASSERT_EQ(part.nodes.size(), 1u);  // what the sum reads, not what is gathered for it
  EXPECT_EQ(w.graph.nodes[part.nodes.front()].placement, columns);
  const RankProgram program = rank_program(w.graph, 0).value();
  EXPECT_EQ(program.stages.size(), 4u);

  const Sent sent = run_twice(w.graph);
  EXPECT_EQ(sent.before, kWhole);  // each of two ranks sends its half
  EXPECT_EQ(sent.in_runs, 2 * kWhole);
}

// Known blocks that collectives, and outputs, read directly.
TEST(ConstantPart, IsReadByCollectivesAndOutputs) {
  Writer w;
  const Placement rows = on_x(AxisPlacement::split(0));
  const Placement columns = on_x(AxisPlacement::split(1));
  const Placement copy = on_x(AxisPlacement::copy());
  const std::size_t x = w.leaf(Kind::kInput, "x", copy);
  const std::size_t moved = w.move(w.leaf(Kind::kConstant, "w", rows), columns);
  w.graph.outputs = {
      {"moved", moved}, {"gathered", w.move(moved, copy)}, {"y", w.op("exp", {x}, copy)}};
  const Sent sent = run_twice(w.graph);
  EXPECT_EQ(sent.before, kWhole / 2 + kWhole);
  EXPECT_EQ(sent.in_runs, 0);
}

TEST(ConstantPart, IsEmptyWhereOperatorsAloneReadConstants) {
  Writer w;
  const Placement rows = on_x(AxisPlacement::split(0));
  const std::size_t x = w.leaf(Kind::kInput, "x", rows);
  const std::size_t weight = w.op("exp", {w.leaf(Kind::kConstant, "w", rows)}, rows);
  w.graph.outputs = {{"y", w.op("add", {x, weight}, rows)}};
  EXPECT_TRUE(constant_part(w.graph).nodes.empty());
  EXPECT_EQ(run_twice(w.graph).before, 0);
}

}  // namespace
}  // namespace egret::runtime

// SPDX-License-Identifier: Apache-2.0
#include "parallel/ring/ring.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/core/symbolic_scope.h"
#include "ir/evaluate/interpreter.h"
#include "parallel/placed/placed_egraph.h"
#include "parallel/plan/plan_file.h"
#include "parallel/ring/ring_factors.h"
#include "tests/parallel/model.h"
#include "tests/runtime/ranks.h"
#include "verifier/equality/obligation.h"
#include "verifier/solver/solver_session.h"

namespace egret::parallel {

using namespace runtime;
namespace {

using ir::Value;

constexpr double kShort = 0.7;  // of the memory that is wanted: too little for whole scores

// One head of attention over inputs, with a mask where it is wanted.
ir::Graph attention(std::int64_t length, std::int64_t width, bool masked = false) {
  Model m;
  const Value q = m.input("q", {1, length, width});
  const Value k = m.input("k", {1, length, width});
  const Value v = m.input("v", {1, length, width});
  Value scores = m("matmul", {q, m("transpose", {k}, {{"perm", ir::Integers{0, 2, 1}}})});
  if (masked) scores = m("add", {scores, m.input("mask", {1, length, length})});
  const Value weights = m("softmax", {scores}, {{"axis", std::int64_t{2}}});
  return m.finish(m("matmul", {weights, v}));
}

ParallelPlanOptions within(std::int64_t bytes) {
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  options.device_memory = bytes;
  return options;
}

const PlacedNode* ring_of(const PlacedGraph& graph) {
  const auto found = std::ranges::find(graph.nodes, PlacedNode::Kind::kRing, &PlacedNode::kind);
  return found == graph.nodes.end() ? nullptr : &*found;
}

std::vector<ir::Tensor> random_inputs(const ir::Graph& graph) {
  base::Random random(5);
  std::vector<ir::Tensor> inputs;
  for (const ir::NodeId id : graph.inputs())
    inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
  return inputs;
}

// What ranks as threads make of it, each in f32, and what they send all together. Inputs are in
// the order of their nodes.
std::pair<ir::Tensor, double> run_on_ranks(const PlacedGraph& graph,
                                           std::span<const ir::Tensor> inputs) {
  Post post;
  Post end;
  ir::Tensor whole;
  on_all_ranks(graph.mesh, [&](std::int64_t rank) {
    const RankProgram program = rank_program(graph, rank).value();
    const std::vector<const ir::Graph*> graphs = program.graphs();
    const auto run = [&](std::size_t i, std::span<const ir::Tensor> values) {
      return ir::interpret(*graphs[i], values, {.precision = ir::Precision::kF32});
    };
    const auto held = held_inputs(graph, rank, inputs).value();
    const auto results = run_rank(graph, program, held, run, post.of(rank)).value();
    const auto wholes = gathered_outputs(graph, rank, results, end.of(rank)).value();
    if (rank == 0) whole = wholes.front();
  });
  return {whole, post.bytes_sent()};
}

// Keys and values are gathered where there is room; where there is not, they pass round, and the
// scores of a block at a time are held.
TEST(Ring, IsAttentionWhereMemoryIsShort) {
  const ir::Graph graph = attention(256, 16);
  for (const std::int64_t p : {2, 4, 8}) {
    const Cluster machine = machine_of("x=" + std::to_string(p));
    const auto free = plan_of(graph, machine, within(0));
    ASSERT_TRUE(free.ok()) << free.status().message();
    EXPECT_EQ(ring_of(free->program), nullptr);
    const auto plan =
        plan_of(graph, machine, within(static_cast<std::int64_t>(free->memory_bytes * kShort)));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_LE(plan->memory_bytes, free->memory_bytes * kShort);
    EXPECT_GT(plan->time_s, free->time_s);
    const PlacedNode* ring = ring_of(plan->program);
    ASSERT_NE(ring, nullptr) << p;
    // Keys and values, of which each rank sends all blocks but the one that is next to come.
    const auto program = ring_program(plan->program, *ring);
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(program->states.size(), 3U);  // maxima, sums of exponentials, weighted sums
    EXPECT_EQ(std::ranges::count(program->inputs, true, &RingInput::passes), 2);
    EXPECT_DOUBLE_EQ(program->bytes_sent(), static_cast<double>(2 * 256 * 16 * 4 * (p - 1) / p));
  }
}

TEST(Ring, RanksComputeWhatTheInterpreterDoes) {
  for (const char* mesh : {"x=2", "x=4", "x=8", "x=2,y=2"}) {
    for (const bool masked : {false, true}) {
      const ir::Graph graph = attention(128, 4, masked);
      const Cluster machine = machine_of(mesh);
      const auto free = plan_of(graph, machine, within(0));
      ASSERT_TRUE(free.ok()) << free.status().message();
      const auto plan =
          plan_of(graph, machine, within(static_cast<std::int64_t>(free->memory_bytes * kShort)));
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_NE(ring_of(plan->program), nullptr) << mesh;
      const auto inputs = random_inputs(graph);
      const auto expected = ir::interpret(graph, inputs).value();
      std::map<std::string, ir::Tensor> by_name;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        by_name[graph.node(graph.inputs()[i]).name] = inputs[i];
      std::vector<ir::Tensor> own;
      for (const PlacedNode& node : plan->program.nodes) {
        if (node.kind == PlacedNode::Kind::kInput) own.push_back(by_name[node.name]);
      }
      const auto [found, sent] = run_on_ranks(plan->program, own);
      const auto [again, unused] = run_on_ranks(plan->program, own);
      ASSERT_EQ(found.elements(), expected.front().elements());
      for (std::int64_t i = 0; i < found.elements(); ++i)
        EXPECT_NEAR(found.f64_at(i), expected.front().f64_at(i), 1e-6);
      EXPECT_TRUE(std::ranges::equal(found.data(), again.data()));
    }
  }
}

// Rings of one form and different sizes are different operators, each with its own price.
TEST(Ring, IsOfTheSizesOfWhatItComputes) {
  Model m;
  const Value x = m.input("x", {256, 64});
  const Value h = m("matmul", {x, m.weight("up", {64, 1024})});
  const ir::Graph graph = m.finish(m("matmul", {h, m.weight("down", {1024, 64})}));
  const auto tensors = rules::TensorEGraph::from_graph(graph).value();
  const PlacedEGraph::Request request{.outputs = {Placement(1)}, .rings = true};
  const auto placed = PlacedEGraph::of(*tensors, Mesh::parse("x=4").value(), request).value();
  int rings = 0;
  for (const egraph::ClassId id : placed->egraph().classes()) {
    for (const egraph::NodeId node : placed->egraph().nodes(id)) {
      const auto& meaning = placed->meaning(placed->egraph().op(node));
      if (meaning.kind != PlacedEGraph::Kind::kRing) continue;
      ++rings;
      EXPECT_EQ(meaning.program->whole, tensors->type(placed->placed(id).value));
      EXPECT_EQ(meaning.program->type, placed->placed(id).type);
    }
  }
  EXPECT_GT(rings, 4);
}

// Blocks of a mask that hide all keys of a step: no infinity spoils the sums.
TEST(Ring, TakesMasksOfMinusInfinity) {
  const ir::Graph graph = attention(128, 4, true);
  const Cluster machine = machine_of("x=4");
  const auto free = plan_of(graph, machine, within(0));
  const auto plan =
      plan_of(graph, machine, within(static_cast<std::int64_t>(free->memory_bytes * kShort)));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_NE(ring_of(plan->program), nullptr);
  auto inputs = random_inputs(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (graph.node(graph.inputs()[i]).name != "mask") continue;
    for (std::int64_t q = 0; q < 128; ++q) {
      for (std::int64_t k = q + 1; k < 128; ++k) inputs[i].set_f64(128 * q + k, -INFINITY);
    }
  }
  EXPECT_TRUE(check_against(plan->program, graph, inputs).ok());
}

// A product whose second matrix passes round by its rows, on a mesh of two axes too.
struct Product {
  ir::TensorType a{ir::DType::kF32, {8, 16}};
  ir::TensorType b{ir::DType::kF32, {16, 12}};
  Ring ring{0,
            {{false, AxisPlacement::split(1)}, {true, AxisPlacement::split(0)}},
            {{&ir::get_operator("matmul"), {}, {-1, -2}, {}, AxisPlacement::sum()}}};

  PlacedGraph graph(const char* text) {
    PlacedGraph graph;
    graph.mesh = Mesh::parse(text).value();
    const auto place = [&](const char* placement) {
      return Placement::parse(placement, graph.mesh).value();
    };
    ring.nodes[0].placement = place("x:S(0)");
    const auto held = [&](const ir::TensorType& whole, const Placement& placement) {
      PlacedNode node{.kind = PlacedNode::Kind::kInput, .name = whole == a ? "a" : "b"};
      node.whole = whole;
      node.placement = placement;
      node.type = local_type(whole, placement, graph.mesh).value();
      return node;
    };
    graph.nodes = {held(a, place("x:S(0)")), held(b, place("x:S(0)"))};
    PlacedNode node{.kind = PlacedNode::Kind::kRing, .ring = ring, .inputs = {0, 1}};
    node.whole = ir::TensorType(ir::DType::kF32, {8, 12});
    node.placement = ring.nodes[0].placement;
    node.type = local_type(node.whole, node.placement, graph.mesh).value();
    graph.nodes.push_back(node);
    graph.outputs = {{"y", 2}};
    return graph;
  }

  static std::string error(const PlacedGraph& graph) { return check(graph).message(); }
};

TEST(Ring, OfAProductAddsUpBlocks) {
  for (const char* mesh : {"x=2", "x=4", "x=2,y=2"}) {
    Product product;
    const PlacedGraph graph = product.graph(mesh);
    ASSERT_EQ(Product::error(graph), "");
    ir::GraphBuilder builder;
    const Value a = builder.input("a", product.a);
    builder.output("y", builder.add("matmul", {a, builder.input("b", product.b)}));
    const ir::Graph whole = builder.finish().value();
    const auto inputs = random_inputs(whole);
    EXPECT_TRUE(check_against(graph, whole, inputs).ok());
    const auto [found, sent] = run_on_ranks(graph, inputs);
    const auto expected = ir::interpret(whole, inputs).value();
    for (std::int64_t i = 0; i < found.elements(); ++i)
      EXPECT_NEAR(found.f64_at(i), expected.front().f64_at(i), 1e-5);
    const auto program = ring_program(graph, graph.nodes[2]).value();
    EXPECT_DOUBLE_EQ(sent, program.bytes_sent() * static_cast<double>(graph.mesh.ranks()));
  }
}

TEST(Ring, OfAProductPutsColumnsTogether) {
  Product product;
  product.ring.inputs = {{false, AxisPlacement::copy()}, {true, AxisPlacement::split(1)}};
  product.ring.nodes[0].step = AxisPlacement::split(1);
  PlacedGraph graph = product.graph("x=4");
  graph.nodes[1].placement = Placement::parse("x:S(1)", graph.mesh).value();
  graph.nodes[1].type =
      local_type(graph.nodes[1].whole, graph.nodes[1].placement, graph.mesh).value();
  ASSERT_EQ(Product::error(graph), "");
  ir::GraphBuilder builder;
  const Value a = builder.input("a", product.a);
  builder.output("y", builder.add("matmul", {a, builder.input("b", product.b)}));
  const ir::Graph whole = builder.finish().value();
  EXPECT_TRUE(check_against(graph, whole, random_inputs(whole)).ok());
}

TEST(Ring, WrongOnesAreRejected) {
  const auto error = [](const std::function<void(PlacedGraph&)>& change) {
    Product product;
    PlacedGraph graph = product.graph("x=4");
    change(graph);
    return Product::error(graph);
  };
  EXPECT_EQ(error([](PlacedGraph&) {}), "");
  EXPECT_EQ(error([](PlacedGraph& g) { g.nodes[2].ring.inputs[1].step = AxisPlacement::split(1); }),
            "node 2: an input of a ring cannot be passed this way");
  EXPECT_EQ(error([](PlacedGraph& g) { g.nodes[2].ring.inputs[0].step = AxisPlacement::copy(); }),
            "node 2: step of the ring 0: matmul has no law along time to P(sum)");
  EXPECT_EQ(error([](PlacedGraph& g) { g.nodes[2].ring.nodes[0].step = AxisPlacement::max(); }),
            "node 2: step of the ring 0: matmul has no law along time to P(max)");
  EXPECT_EQ(error([](PlacedGraph& g) {
              g.nodes[2].ring.nodes[0].inputs = {-2, -1};
            }).substr(0, 8),
            "node 2: ");
  EXPECT_EQ(error([](PlacedGraph& g) {
              g.nodes[2].ring.nodes[0].inputs = {-1, 0};
            }),
            "node 2: step of the ring 0: its inputs must come before it");
  // What is taken of a sum in progress is no sum of what was taken.
  EXPECT_EQ(
      error([](PlacedGraph& g) {
        Ring& ring = g.nodes[2].ring;
        ring.nodes.push_back(
            {&ir::get_operator("relu"), {}, {0}, ring.nodes[0].placement, AxisPlacement::copy()});
      }),
      "node 2: step of the ring 1: relu has no law along time to R");
}

// A placement, and what is scaled by a value that is not known yet, of operators with two inputs.
std::optional<Factor> factor(const char* op, std::vector<Factor> inputs,
                             const char* value = "f32[2,3,1]", const ir::Attrs& attrs = {}) {
  const ir::Operator& row = ir::get_operator(op);
  const ir::TensorType type = ir::TensorType(ir::DType::kF32, {2, 3, 4});
  std::vector<ir::TensorType> types(inputs.size(), type);
  const ir::TensorType unknown = std::string_view(value) == "f32[2,3,1]"
                                     ? ir::TensorType(ir::DType::kF32, {2, 3, 1})
                                     : ir::TensorType(ir::DType::kF32, {2, 1, 4});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == Factor::Kind::kItself) types[i] = unknown;
  }
  const auto full = ir::canonical_attrs(row.attrs(), attrs).value();
  const auto denotation = ir::denote(row, full, types);
  EXPECT_TRUE(denotation.ok()) << denotation.status().message();
  return factor_of(*denotation, types, inputs, unknown);
}

TEST(RingFactors, AreReadOffDefinitions) {
  using K = Factor::Kind;
  const Factor free{};
  const Factor itself{K::kItself, 1};
  const Factor scaled{K::kScaled, -1};
  EXPECT_EQ(factor("sub", {free, itself}), (Factor{K::kShifted, -1}));
  EXPECT_EQ(factor("add", {itself, free}), (Factor{K::kShifted, 1}));
  EXPECT_EQ(factor("exp", {{K::kShifted, -1}}), scaled);
  EXPECT_EQ(factor("mul", {scaled, free}), scaled);
  EXPECT_EQ(factor("add", {scaled, scaled}), scaled);
  EXPECT_EQ(factor("div", {scaled, free}), scaled);
  EXPECT_EQ(factor("div", {free, itself}), (Factor{K::kDivided}));
  EXPECT_EQ(factor("relu", {free}), free);
  // Not: a constant added to what is scaled, squares, functions of it, its inverse.
  EXPECT_EQ(factor("add", {scaled, free}), std::nullopt);
  EXPECT_EQ(factor("mul", {scaled, scaled}), std::nullopt);
  EXPECT_EQ(factor("mul", {free, itself}), std::nullopt);
  EXPECT_EQ(factor("div", {itself, free}), std::nullopt);
  EXPECT_EQ(factor("div", {free, scaled}), std::nullopt);
  EXPECT_EQ(factor("tanh", {{K::kShifted, -1}}), std::nullopt);
  EXPECT_EQ(factor("relu", {scaled}), std::nullopt);
  EXPECT_EQ(factor("add", {{K::kScaled, 1}, scaled}), std::nullopt);
  // Sums over what it is the same for, and not over what it differs for.
  const ir::Attrs last{{"axes", ir::Integers{2}}, {"keepdims", std::int64_t{1}}};
  EXPECT_EQ(factor("reduce_sum", {scaled}, "f32[2,3,1]", last), scaled);
  EXPECT_EQ(factor("reduce_sum", {scaled}, "f32[2,1,4]", last), std::nullopt);
  const ir::Attrs perm{{"perm", ir::Integers{1, 0, 2}}};
  EXPECT_EQ(factor("transpose", {scaled}, "f32[2,3,1]", perm), std::nullopt);
}

// The merge of a step, for all sizes: where s and s' are the scores of what was and of what comes,
// and the reference t becomes u,
//   exp([s s'] - u) [v; v']  =  (exp(s - t) v) * exp(t - u) + exp(s' - u) v'
TEST(Ring, MergeOfWeightedSumsIsProven) {
  ir::SymbolicScope scope;
  std::vector<ir::Guard> conditions;
  const auto size = [&](const char* name, std::int64_t example) {
    const ir::Index symbol = scope.symbol(name, example);
    conditions.push_back(symbol >= 1);
    return symbol;
  };
  const ir::Index q = size("q", 3), k = size("k", 4), l = size("l", 5), d = size("d", 2);
  const auto type = [](ir::Index rows, ir::Index columns) {
    return ir::TensorType(ir::DType::kF32, ir::Dims{rows, columns});
  };
  const auto statement =
      [&](const std::function<Value(ir::GraphBuilder&, std::vector<Value>)>& make) {
        ir::GraphBuilder g;
        const std::vector<Value> inputs{g.input("s", type(q, k)), g.input("s'", type(q, l)),
                                        g.input("v", type(k, d)), g.input("v'", type(l, d)),
                                        g.input("t", type(q, 1)), g.input("u", type(q, 1))};
        g.output("out", make(g, inputs));
        return g.finish().value();
      };
  const auto weighted = [](ir::GraphBuilder& g, Value s, Value t, Value v) {
    return g.add("matmul", {g.add("exp", {g.add("sub", {s, t})}), v});
  };
  const ir::Graph left = statement([&](ir::GraphBuilder& g, std::vector<Value> in) {
    const Value s = g.add("concat", {in[0], in[1]}, {{"axis", std::int64_t{1}}});
    const Value v = g.add("concat", {in[2], in[3]}, {{"axis", std::int64_t{0}}});
    return weighted(g, s, in[5], v);
  });
  const auto merged = [&](bool corrected) {
    return statement([&](ir::GraphBuilder& g, std::vector<Value> in) {
      Value before = weighted(g, in[0], in[4], in[2]);
      if (corrected) before = g.add("mul", {before, g.add("exp", {g.add("sub", {in[4], in[5]})})});
      return g.add("add", {before, weighted(g, in[1], in[5], in[3])});
    });
  };
  const auto prove = [&](const ir::Graph& right) {
    auto obligation = verifier::Obligation::of(left, right);
    EXPECT_TRUE(obligation.ok()) << obligation.status().message();
    for (const ir::Guard& requirement : obligation->requirements()) scope.decide(requirement);
    std::vector<ir::Guard> all = conditions;
    all.insert(all.end(), scope.conditions().begin(), scope.conditions().end());
    verifier::SolverSession session;
    const verifier::ProofOptions options{.example = scope.examples(), .session = &session};
    return obligation->prove(all, options);
  };
  const verifier::Proof proof = prove(merged(true));
  EXPECT_TRUE(proof.proven) << proof.reason;
  EXPECT_FALSE(prove(merged(false)).proven);
}

TEST(PlanFile, RingsAreReadBack) {
  const ir::Graph graph = attention(128, 4);
  const Cluster machine = machine_of("x=4");
  const auto free = plan_of(graph, machine, within(0));
  const auto plan =
      plan_of(graph, machine, within(static_cast<std::int64_t>(free->memory_bytes * kShort)));
  ASSERT_TRUE(plan.ok());
  const std::string text = to_json(*plan, {"attention.onnx", {}, "local"}).dump();
  const auto weights = [](const std::string&) -> const ir::Tensor* { return nullptr; };
  const auto again = read_program(base::Json::parse(text).value(), weights);
  ASSERT_TRUE(again.ok()) << again.status().message();
  ASSERT_NE(ring_of(*again), nullptr);
  EXPECT_EQ(ring_of(*again)->ring, ring_of(plan->program)->ring);
  EXPECT_NE(communication(*plan).find("ring x 1x"), std::string::npos);
}

}  // namespace
}  // namespace egret::parallel

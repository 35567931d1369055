// SPDX-License-Identifier: Apache-2.0
// Transposes that pass other operators, and casts that change nothing, against the interpreter.
#include "backends/moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backends/cpu/loops/pointwise_program.h"
#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Value;

const Integers kLast{0, 2, 3, 1}, kFirst{0, 3, 1, 2};  // where channels go

struct Maker {
  GraphBuilder b;
  base::Random random{3};

  Value input(const std::string& name, const Shape& shape) {
    return b.input(name, {DType::kF32, shape});
  }
  Value weights(const Shape& shape) {
    return b.constant(ir::Tensor::random({DType::kF32, shape}, random));
  }
  Value turned(Value x, const Integers& perm) { return b.add("transpose", {x}, {{"perm", perm}}); }
  Value conv(Value x, std::int64_t filters) {
    const Value w = weights({filters, b.type(x).shape()[1], 1, 1});
    return b.add("conv", {x, w},
                 {{"strides", Integers{1, 1}},
                  {"dilations", Integers{1, 1}},
                  {"pads", Integers{0, 0, 0, 0}}});
  }
  ir::Graph finish(Value y) {
    b.output("y", y);
    auto graph = b.finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return *std::move(graph);
  }
};

// Live transposes of computed values, after the pass; the result is checked, too.
std::ptrdiff_t transposes_left(const ir::Graph& graph) {
  const auto moved = without_moves(graph, cpu::is_pointwise);
  const ir::Graph& result = moved ? moved->graph : graph;
  EXPECT_TRUE(result.check_invariants().ok()) << result.check_invariants().message();
  expect_matches_reference(graph, 1);
  if (moved) {
    expect_matches_reference(ir::without_dead_nodes(result), 1);
    EXPECT_EQ(moved->origin.size(), result.size());
    // Both compute the same outputs of the same inputs.
    const Backend& reference = *find_backend("reference");
    const auto values = [&](const ir::Graph& given) {
      const auto plan = reference.compile(given, {});
      EXPECT_TRUE(plan.ok()) << plan.status().message();
      base::Random random(9);
      std::vector<ir::Tensor> inputs;
      for (const ir::NodeId id : given.inputs())
        inputs.push_back(ir::Tensor::random(given.node(id).type, random));
      const auto outputs = (*plan)->run(inputs);
      EXPECT_TRUE(outputs.ok()) << outputs.status().message();
      return outputs->front();
    };
    EXPECT_LE(largest_difference(values(graph), values(ir::without_dead_nodes(result))), 1e-5);
  }
  std::ptrdiff_t left = 0;
  for (const ir::NodeId id : ir::live_nodes(result)) {
    const ir::Node& node = result.node(id);
    left += node.kind == ir::NodeKind::kOperator && node.op->name() == "transpose" &&
            (!moved || moved->origin[id.index()].valid());
  }
  return left;
}

TEST(Transposes, MeetBehindPointwiseOperatorsWithConstants) {
  Maker m;
  const Value x = m.turned(m.conv(m.input("x", {2, 3, 4, 5}), 6), kLast);
  const Value scaled = m.b.add("mul", {x, m.weights({6})});  // by channel
  const Value shifted = m.b.add("sub", {m.weights({4, 1, 6}), scaled});
  const Value masked = m.b.add("max", {shifted, m.b.scalar(DType::kF32, 0.1)});
  EXPECT_EQ(transposes_left(m.finish(m.conv(m.turned(masked, kFirst), 2))), 0);
}

TEST(Transposes, MeetBehindASumOfTwoBranches) {
  Maker m;
  const Value x = m.input("x", {1, 3, 4, 5});
  const Value a = m.turned(m.conv(x, 6), kLast), b = m.turned(m.conv(x, 6), kLast);
  const Value sum = m.b.add("relu", {m.b.add("add", {a, b})});
  EXPECT_EQ(transposes_left(m.finish(m.turned(sum, kFirst))), 0);
}

TEST(Transposes, StayWhereAComputedTensorLiesInAnotherOrder) {
  Maker m;
  const Value x = m.turned(m.conv(m.input("x", {1, 3, 4, 5}), 6), kLast);
  const Value sum = m.b.add("add", {x, m.input("z", {1, 4, 5, 6})});
  EXPECT_EQ(transposes_left(m.finish(m.turned(sum, kFirst))), 2);
}

TEST(Transposes, OfAValueThatIsReadInBothOrdersAreMadeOnce) {
  Maker m;
  const Value x = m.turned(m.conv(m.input("x", {1, 3, 4, 5}), 6), kLast);
  const Value y = m.b.add("relu", {x});
  m.b.output("first", y);
  m.b.output("second", y);
  EXPECT_EQ(transposes_left(m.finish(m.turned(y, kFirst))), 1);
}

TEST(Transposes, PassOperatorsWithAxes) {
  const auto left = [](const auto& body) {
    Maker m;
    const Value x = m.turned(m.conv(m.input("x", {2, 3, 4, 5}), 6), kLast);
    return transposes_left(m.finish(m.turned(body(m, x), kFirst)));
  };
  EXPECT_EQ(left([](Maker& m, Value x) { return m.b.add("softmax", {x}, {{"axis", 3}}); }), 0);
  EXPECT_EQ(left([](Maker& m, Value x) {
              return m.b.add("slice", {x}, {{"axis", 1}, {"start", 1}, {"size", 2}, {"step", 1}});
            }),
            0);
  EXPECT_EQ(left([](Maker& m, Value x) {
              return m.b.add("concat", {x, m.b.add("relu", {x})}, {{"axis", 3}});
            }),
            0);
  EXPECT_EQ(left([](Maker& m, Value x) {
              return m.b.add("pad", {x},
                             {{"before", Integers{0, 1, 2, 0}}, {"after", Integers{0, 0, 1, 3}}});
            }),
            0);
  EXPECT_EQ(left([](Maker& m, Value x) {
              return m.b.add("reduce_mean", {x}, {{"axes", Integers{1, 3}}, {"keepdims", 1}});
            }),
            0);
}

// Their attributes follow the order, as check_invariants() wants it.
TEST(Transposes, PassBroadcastsAndSlicesOfAllElements) {
  const auto left = [](const auto& body) {
    Maker m;
    const Value x = m.turned(m.conv(m.input("x", {2, 3, 1, 5}), 6), kLast);  // 2 1 5 6
    return transposes_left(m.finish(m.turned(body(m, x), kFirst)));
  };
  EXPECT_EQ(left([](Maker& m, Value x) {
              const Value wide = m.b.add("broadcast", {x}, {{"shape", Integers{2, 4, 5, 6}}});
              return m.b.add("mul", {wide, m.weights({4, 1, 6})});
            }),
            0);
  EXPECT_EQ(left([](Maker& m, Value x) {
              return m.b.add("slice", {x}, {{"axis", 2}, {"start", 0}, {"size", 5}, {"step", 1}});
            }),
            0);
}

// The mean over both spatial axes leaves images and channels in their order.
TEST(Transposes, VanishInSumsThatDropAxes) {
  Maker m;
  const Value x = m.turned(m.input("x", {2, 3, 4, 5}), kLast);
  const Value y = m.b.add("reduce_mean", {x}, {{"axes", Integers{1, 2}}, {"keepdims", 0}});
  const Value z = m.turned(m.turned(m.input("z", {2, 3}), {1, 0}), {1, 0});
  EXPECT_EQ(transposes_left(m.finish(m.b.add("add", {y, z}))), 0);
}

TEST(Transposes, OfAxesThatASumLeavesAreRenumbered) {
  Maker m;
  const Value x = m.turned(m.input("x", {2, 3, 4, 5}), {3, 1, 0, 2});
  const Value y = m.b.add("reduce_max", {x}, {{"axes", Integers{1}}, {"keepdims", 0}});  // 5 2 4
  const Value relu = m.b.add("relu", {y});
  EXPECT_EQ(transposes_left(m.finish(m.turned(relu, {1, 2, 0}))), 0);
}

TEST(Transposes, AreNotMovedWhereNoneVanishes) {
  Maker m;
  const Value x = m.turned(m.input("x", {2, 3, 4, 5}), kLast);
  const Value y = m.turned(m.input("y", {2, 3, 4, 5}), kLast);
  const ir::Graph graph = m.finish(m.b.add("mul", {m.b.add("relu", {x}), m.b.add("exp", {y})}));
  // One transpose is fewer than two.
  EXPECT_TRUE(without_moves(graph, cpu::is_pointwise).has_value());
  Maker n;
  const ir::Graph single = n.finish(n.b.add("relu", {n.turned(n.input("x", {2, 3, 4, 5}), kLast)}));
  EXPECT_FALSE(without_moves(single, cpu::is_pointwise).has_value());
}

TEST(Casts, ToTheSameTypeAreLeftOut) {
  Maker m;
  const auto same = [&](Value x) { return m.b.add("cast", {x}, {{"to", std::string("f32")}}); };
  const Value x = same(m.conv(same(m.input("x", {1, 32, 14, 14})), 32));
  const Value y = m.b.add("relu", {m.b.add("mul", {x, m.weights({32, 1, 1})})});
  const Value half = m.b.add("cast", {y}, {{"to", std::string("f16")}});
  m.b.output("half", half);
  const ir::Graph graph = m.finish(same(m.b.add("cast", {half}, {{"to", std::string("f32")}})));
  const auto moved = without_moves(graph, cpu::is_pointwise);
  ASSERT_TRUE(moved.has_value());
  EXPECT_EQ(std::ranges::count_if(moved->graph.nodes(),
                                  [](const ir::Node& node) {
                                    return node.kind == ir::NodeKind::kOperator &&
                                           node.op->name() == "cast";
                                  }),
            2);  // to f16 and back
  const PlanReport report = expect_matches_reference(graph, 1, 1e-3);
  EXPECT_EQ(std::ranges::count(report.kernels, std::string("conv"), &PlanReport::Kernel::name), 1);
  // One that is all there is, and one of an input alone.
  Maker n;
  n.b.output("also", n.b.add("cast", {n.input("z", {3})}, {{"to", std::string("f32")}}));
  const Value w = n.b.add("identity", {n.b.add("exp", {n.input("w", {3})})});
  expect_matches_reference(n.finish(w), 1);
}

// What the pass is for: no reorder lies between the convolutions of such a model, and their kernels
// take the pointwise operators.
TEST(Transposes, LeaveConvolutionsWithTheirPointwiseOperators) {
  Maker m;
  Value x = m.input("x", {1, 32, 14, 14});
  for (int i = 0; i < 3; ++i) {
    const Value y = m.turned(m.conv(x, 32), kLast);
    x = m.turned(m.b.add("relu", {m.b.add("add", {y, m.weights({32})})}), kFirst);
  }
  const PlanReport report = expect_matches_reference(m.finish(x), 1);
  const auto count = [&](std::string_view name) {
    return std::ranges::count(report.kernels, name, &PlanReport::Kernel::name);
  };
  EXPECT_EQ(count("conv"), 3);
  EXPECT_EQ(count("pointwise"), 0);
  EXPECT_LE(count("reorder"), 2);  // of the input and the output
}

}  // namespace
}  // namespace egret::backends

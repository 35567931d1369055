// SPDX-License-Identifier: Apache-2.0
// Scores of one query with the squares of the keys in one kernel.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/division.h"
#include "backends/joint_kernels.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Value;

const Backend& cpu() { return *find_backend("cpu"); }

bool stores_together(const ir::Graph& graph) {
  return joint_kernels_of(cpu())->stores_together(graph, {});
}

Value with_last_two_swapped(GraphBuilder& b, Value x, std::size_t rank) {
  Integers perm;
  for (std::size_t i = 0; i < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  std::swap(perm[rank - 1], perm[rank - 2]);
  return b.add("transpose", {x}, {{"perm", perm}});
}

ir::Attrs over(std::int64_t axis, bool keeps) {
  return {{"axes", Integers{axis}}, {"keepdims", std::int64_t{keeps ? 1 : 0}}};
}

// The kernels but for those before `first`, as one.
PlanReport run_as_one(const ir::Graph& graph, ir::NodeId first, int threads) {
  CompileOptions options;
  std::vector<ir::NodeId> one;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::NodeId id(i);
    if (graph.node(id).kind != ir::NodeKind::kOperator) continue;
    if (id < first) {
      options.division.push_back({id});
    } else {
      one.push_back(id);
    }
  }
  options.division.push_back(one);
  options.threads = threads;
  options.guarded_memory = true;
  PlanReport report;
  EXPECT_LT(relative_error(graph, options, cpu(), &report), 1e-5);
  return report;
}

TEST(JointKeys, ReadKeysOnceForScoresAndSquares) {
  for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 3}}) {
    for (const std::int64_t keys : {2, 5, 512, 1030}) {
      for (const std::int64_t width : {16, 77, 128}) {
        for (const bool mean : {false, true}) {
          const auto of = [&](std::int64_t rows) {
            Shape shape = batch;
            shape.insert(shape.end(), {rows, width});
            return ir::TensorType(DType::kF32, shape);
          };
          const auto rank = static_cast<std::int64_t>(batch.size()) + 2;
          GraphBuilder b;
          const Value q = b.input("q", of(1)), k = b.input("k", of(keys));
          const Value transposed = with_last_two_swapped(b, k, batch.size() + 2);
          b.output("scores", b.add("matmul", {q, transposed}));
          b.output("squares", b.add(mean ? "reduce_mean" : "reduce_sum", {b.add("mul", {k, k})},
                                    over(rank - 1, mean)));
          const ir::Graph graph = *b.finish();
          EXPECT_TRUE(stores_together(graph));
          for (const int threads : {1, 2}) {
            const PlanReport report = run_as_one(graph, transposed.id, threads);
            ASSERT_EQ(report.kernels.size(), 1U);
            EXPECT_EQ(report.kernels[0].implementation, "own:keys and squares");
          }
        }
      }
    }
  }
}

// A chain behind the scores, some of whose values are stored, and keys of a cache that lie apart.
TEST(JointKeys, HaveAChainAndKeysThatLieApart) {
  for (const bool with_squares : {false, true}) {
    GraphBuilder b;
    const Value cache = b.input("cache", {DType::kF32, {2, 70, 3, 40}});
    const Value k = b.add("transpose", {cache}, {{"perm", Integers{0, 2, 1, 3}}});
    const Value mask = b.add("tanh", {b.input("mask", {DType::kF32, {2, 3, 1, 70}})});
    const Value transposed = with_last_two_swapped(b, k, 4);
    const Value scores = b.add("matmul", {b.input("q", {DType::kF32, {2, 3, 1, 40}}), transposed});
    const Value scaled = b.add("mul", {scores, b.scalar(DType::kF32, 0.125)});
    if (with_squares) b.output("scaled", scaled);
    b.output("masked", b.add("add", {scaled, mask}));
    if (with_squares) {
      b.output("squares", b.add("reduce_mean", {b.add("mul", {k, k})}, over(3, true)));
    }
    const ir::Graph graph = *b.finish();
    const PlanReport report = run_as_one(graph, transposed.id, 2);
    EXPECT_EQ(report.kernels.back().implementation,
              with_squares ? "own:keys and squares: 2 results" : "own:keys");
  }
}

// No pass over the keys is made for no scores, but their squares are wanted.
TEST(JointKeys, HaveSquaresWithoutAQuery) {
  GraphBuilder b;
  const Value q = b.input("q", {DType::kF32, {2, 0, 32}});
  const Value k = b.input("k", {DType::kF32, {2, 40, 32}});
  const Value transposed = with_last_two_swapped(b, k, 3);
  b.output("scores", b.add("matmul", {q, transposed}));
  b.output("squares", b.add("reduce_sum", {b.add("mul", {k, k})}, over(2, true)));
  ir::Graph graph = *b.finish();
  EXPECT_FALSE(stores_together(graph));
  std::vector<ir::NodeId> one;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator) one.emplace_back(i);
  }
  store_division(graph, {one}, "cpu");
  EXPECT_LT(relative_error(graph, {}, cpu()), 1e-5);
}

TEST(JointKeys, AreRefusedWhereNoKernelHasThem) {
  const auto refused = [](std::int64_t rows, auto&& build) {
    GraphBuilder b;
    const Value q = b.input("q", {DType::kF32, {2, rows, 64}});
    const Value k = b.input("k", {DType::kF32, {2, 30, 64}});
    const Value scores = b.add("matmul", {q, with_last_two_swapped(b, k, 3)});
    b.output("scores", scores);
    build(b, k, scores);
    return !stores_together(*b.finish());
  };
  const auto nothing = [](GraphBuilder&, Value, Value) {};
  EXPECT_FALSE(refused(1, nothing));
  EXPECT_TRUE(refused(2, nothing));
  // The largest square, sums of others than squares, along the other axis; the squares themselves;
  // and scores that are divided by their sum.
  EXPECT_TRUE(refused(1, [](GraphBuilder& b, Value k, Value) {
    b.output("largest", b.add("reduce_max", {b.add("mul", {k, k})}, over(2, true)));
  }));
  EXPECT_TRUE(refused(1, [](GraphBuilder& b, Value k, Value) {
    b.output("sum", b.add("reduce_sum", {b.add("tanh", {k})}, over(2, true)));
  }));
  EXPECT_TRUE(refused(1, [](GraphBuilder& b, Value k, Value) {
    b.output("sum", b.add("reduce_sum", {b.add("mul", {k, k})}, over(1, true)));
  }));
  EXPECT_TRUE(refused(1, [](GraphBuilder& b, Value k, Value) {
    const Value squares = b.add("mul", {k, k});
    b.output("squares", squares);
    b.output("sum", b.add("reduce_sum", {squares}, over(2, true)));
  }));
  EXPECT_TRUE(refused(1, [](GraphBuilder& b, Value k, Value scores) {
    const Value sum = b.add("reduce_sum", {b.add("mul", {k, k})}, over(2, false));
    const Value apart = b.add("reshape", {sum}, {{"shape", Integers{2, 1, 30}}});
    b.output("divided", b.add("div", {scores, apart}));
  }));
}

}  // namespace
}  // namespace egret::backends

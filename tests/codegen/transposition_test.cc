// SPDX-License-Identifier: Apache-2.0
// Kernels on the host that read along another axis than they write.
#include "backends/codegen/text/transposition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/codegen/regions.h"
#include "base/random.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/codegen/needs_host_compiler.h"

namespace egret::backends::codegen {
namespace {

using ir::DType;
using ir::Value;

class Transpositions : public NeedsHostCompiler<::testing::Test> {
 protected:
  static ir::Graph finished(ir::GraphBuilder& b) {
    auto graph = std::move(b).finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return *std::move(graph);
  }
  static ir::Graph transpose(const ir::Shape& shape, const ir::Integers& order,
                             DType type = DType::kF32) {
    ir::GraphBuilder b;
    b.output("y", b.add("transpose", {b.input("x", {type, shape})}, {{"perm", order}}));
    return finished(b);
  }
  static std::int64_t steps_of(const ir::Graph& graph) {
    const auto regions = find_regions(graph, {.target = Target::kHost});
    EXPECT_EQ(regions.size(), 1U);
    EXPECT_TRUE(regions[0].kernel.ok());
    return regions[0].kernel->steps;
  }
  static void expect_right(const ir::Graph& graph, double tolerance) {
    base::Random random(7);
    std::vector<ir::Tensor> inputs;
    for (const ir::NodeId id : graph.inputs())
      inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
    const auto expected = ir::interpret(graph, inputs);
    ASSERT_TRUE(expected.ok());
    for (const int threads : {1, 2}) {
      const auto plan = find_backend("codegen")->compile(graph, {.threads = threads});
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      const auto outputs = (*plan)->run(inputs);
      ASSERT_TRUE(outputs.ok()) << outputs.status().message();
      EXPECT_EQ(difference((*outputs)[0], (*expected)[0], tolerance), "");
    }
  }
};

TEST_F(Transpositions, TakeBlocksOfNeighbours) {
  // 130 rows of the input make nine blocks of 16, the last one of two.
  const ir::Graph plain = transpose({130, 70}, {1, 0});
  EXPECT_EQ(steps_of(plain), 5);  // of 70 columns
  expect_right(plain, 0);
  const ir::Graph planes = transpose({3, 70, 50}, {0, 2, 1});
  EXPECT_EQ(steps_of(planes), 3 * 4);
  expect_right(planes, 0);
  const ir::Graph turned = transpose({40, 30, 20}, {2, 0, 1});
  expect_right(turned, 0);
  expect_right(transpose({40, 30, 20}, {2, 1, 0}), 0);
  expect_right(transpose({130, 70}, {1, 0}, DType::kI64), 0);
}

// The line of a small one stays in the cache, and what is contiguous needs no blocks.
TEST_F(Transpositions, AreLoopsWherePlainOnesServe) {
  EXPECT_EQ(steps_of(transpose({40, 30}, {1, 0})), 30);
  EXPECT_EQ(steps_of(transpose({100, 30, 64}, {1, 0, 2})), 30 * 100);
}

TEST_F(Transpositions, MayReadOtherValuesAlongRows) {
  ir::GraphBuilder b;
  const Value turned =
      b.add("transpose", {b.input("x", {DType::kF32, {128, 96}})}, {{"perm", ir::Integers{1, 0}}});
  b.output("y", b.add("mul", {turned, b.input("r", {DType::kF32, {96, 128}})}));
  const ir::Graph graph = finished(b);
  EXPECT_EQ(steps_of(graph), 6);
  expect_right(graph, 0);
}

// One row times a transposed matrix: no kernel turns the matrix.
TEST_F(Transpositions, OfMatricesAreNotComputedForOneRow) {
  ir::GraphBuilder b;
  const Value w =
      b.add("transpose", {b.input("w", {DType::kF32, {500, 600}})}, {{"perm", ir::Integers{1, 0}}});
  b.output("y", b.add("matmul", {b.input("x", {DType::kF32, {1, 600}}), w}));
  const ir::Graph graph = finished(b);
  EXPECT_EQ(find_regions(graph, {.target = Target::kHost}).size(), 1U);
  expect_right(graph, 1e-4);
}

}  // namespace
}  // namespace egret::backends::codegen

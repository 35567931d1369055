// SPDX-License-Identifier: Apache-2.0
// Kernels of several products of one operand, and of products whose own values are stored beside
// those behind them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/loops/product_tiles.h"
#include "backends/joint_kernels.h"
#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Value;

const Backend& cpu() { return *find_backend("cpu"); }

bool stores_together(const ir::Graph& graph) {
  return joint_kernels_of(cpu())->stores_together(graph, {});
}

std::vector<ir::NodeId> operators_of(const ir::Graph& graph) {
  std::vector<ir::NodeId> nodes;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator) nodes.emplace_back(i);
  }
  return nodes;
}

// All operators in one kernel; returns how it is made.
std::string run_as_one(const ir::Graph& graph, int threads) {
  CompileOptions options;
  options.division = {operators_of(graph)};
  options.threads = threads;
  options.guarded_memory = true;
  PlanReport report;
  EXPECT_LT(relative_error(graph, options, cpu(), &report), 1e-5);
  EXPECT_EQ(report.kernels.size(), 1U);
  return report.kernels.empty() ? "" : report.kernels[0].implementation;
}

struct Sizes {
  std::int64_t rows, depth, columns;
};

// Few rows (row_product.h), and many (block_product.h) of which the last block is not full.
class JointProduct : public ::testing::TestWithParam<Sizes> {
 protected:
  void SetUp() override {
    if (GetParam().rows > 8 && cpu::tile_functions() == nullptr)
      GTEST_SKIP() << "products by tiles need AVX2";
  }
  std::string kind() const { return GetParam().rows > 8 ? "own:tiles" : "own:row"; }
  Value left(GraphBuilder& b) const {
    return b.input("x", {DType::kF32, {GetParam().rows, GetParam().depth}});
  }
  Value weights(GraphBuilder& b, std::uint64_t seed) const {
    base::Random random(seed);
    return b.constant(
        ir::Tensor::random({DType::kF32, {GetParam().depth, GetParam().columns}}, random));
  }
  ir::TensorType type() const { return {DType::kF32, {GetParam().rows, GetParam().columns}}; }
};

TEST_P(JointProduct, StoresItsOwnValueBesideThatOfItsEpilogue) {
  GraphBuilder b;
  const Value product = b.add("matmul", {left(b), weights(b, 1)});
  b.output("plain", product);
  b.output("relu", b.add("relu", {product}));
  const ir::Graph graph = *b.finish();
  EXPECT_TRUE(stores_together(graph));
  for (const int threads : {1, 2}) EXPECT_EQ(run_as_one(graph, threads), kind() + ": 2 results");
}

// silu(x W1) * (x W2)
TEST_P(JointProduct, IsAGatedLayerInOneKernel) {
  GraphBuilder b;
  const Value x = left(b);
  const Value gate = b.add("matmul", {x, weights(b, 1)});
  const Value silu = b.add("mul", {gate, b.add("sigmoid", {gate})});
  b.output("y", b.add("mul", {silu, b.add("matmul", {x, weights(b, 2)})}));
  const ir::Graph graph = *b.finish();
  EXPECT_TRUE(stores_together(graph));
  for (const int threads : {1, 2}) EXPECT_EQ(run_as_one(graph, threads), kind() + ": 2 products");
}

TEST_P(JointProduct, IsThreeProductsOfOneOperand) {
  GraphBuilder b;
  const Value x = left(b);
  base::Random random(4);
  const auto bias = [&] {
    return b.constant(ir::Tensor::random({DType::kF32, {GetParam().columns}}, random));
  };
  for (const std::uint64_t i : {1, 2, 3})
    b.output("y" + std::to_string(i), b.add("add", {b.add("matmul", {x, weights(b, i)}), bias()}));
  const ir::Graph graph = *b.finish();
  EXPECT_TRUE(stores_together(graph));
  for (const int threads : {1, 2})
    EXPECT_EQ(run_as_one(graph, threads), kind() + ": 3 products, 3 results");
}

// Random operators behind two products, some of whose values are stored; the first operand of an
// operator may die in the kernel.
TEST_P(JointProduct, WithRandomChainsIsAsTheInterpreterSays) {
  base::Random random(31);
  for (int trial = 0; trial < 12; ++trial) {
    GraphBuilder b;
    const Value x = left(b);
    const Value before = b.add("tanh", {b.input("r", type())});
    const Value row = b.input("row", {DType::kF32, {GetParam().columns}});
    std::vector<Value> values{b.add("matmul", {x, weights(b, 1)})};
    std::vector<ir::NodeId> nodes{values[0].id};
    if (trial % 3 > 0) {
      values.push_back(b.add("matmul", {x, weights(b, 2)}));
      nodes.push_back(values[1].id);
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (random.chance(0.5)) b.output("p" + std::to_string(i), values[i]);
    }
    for (int k = 0; k < 4; ++k) {
      const Value one = values[random.below(values.size())];
      const Value any = values[random.below(values.size())];
      switch (k == 3 ? 0 : random.below(5)) {
        case 0: values.push_back(b.add("add", {one, before})); break;
        case 1: values.push_back(b.add("mul", {one, row})); break;
        case 2: values.push_back(b.add("relu", {one})); break;
        case 3: values.push_back(b.add("sub", {any, one})); break;
        default: values.push_back(b.add("tanh", {any}));
      }
      nodes.push_back(values.back().id);
      b.output("o" + std::to_string(k), values.back());
    }
    const ir::Graph graph = *b.finish();
    CompileOptions options;
    options.division = {{before.id}, nodes};
    options.guarded_memory = trial % 2 == 0;
    options.threads = 1 + trial % 2;
    PlanReport report;
    EXPECT_LT(relative_error(graph, options, cpu(), &report), 2e-5) << trial;
    EXPECT_EQ(report.kernels.size(), 2U) << trial;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, JointProduct,
                         ::testing::Values(Sizes{1, 40, 700}, Sizes{5, 300, 72}, Sizes{8, 64, 1100},
                                           Sizes{30, 200, 130}, Sizes{200, 64, 48},
                                           Sizes{401, 420, 900}));

// The chain reads the weights as they lie: in all rows, or as the one row for all.
TEST(RowProduct, MayReadItsWeightsInItsChain) {
  const auto check = [](const ir::Shape& left, const ir::Shape& right, bool behind_tanh) {
    GraphBuilder b;
    base::Random random(3);
    const Value w = b.constant(ir::Tensor::random({DType::kF32, right}, random));
    const Value product = b.add("matmul", {b.input("x", {DType::kF32, left}), w});
    b.output("y", behind_tanh ? b.add("mul", {b.add("tanh", {product}), w})
                              : b.add("add", {product, w}));
    const PlanReport report = expect_matches_reference(*b.finish(), 3);
    ASSERT_EQ(report.kernels.size(), 1U);
    EXPECT_EQ(report.kernels[0].implementation, "own:row");
  };
  check({8, 8}, {8, 128}, false);
  check({4, 1}, {1, 64}, false);
  check({2, 4, 1}, {1, 64}, true);
}

// The weights of the first product are an operand of the chain, too.
TEST(JointProducts, MayReadTheirWeightsInTheirChain) {
  GraphBuilder b;
  base::Random random(6);
  const auto weights = [&] {
    return b.constant(ir::Tensor::random({DType::kF32, {8, 128}}, random));
  };
  const Value x = b.input("x", {DType::kF32, {8, 8}}), w = weights();
  const Value other = b.add("matmul", {x, weights()});
  b.output("y", b.add("mul", {b.add("add", {b.add("matmul", {x, w}), w}), other}));
  EXPECT_EQ(run_as_one(*b.finish(), 1), "own:row: 2 products");
}

TEST(JointProducts, AreRefusedWhereNoKernelHasThem) {
  const auto refused = [](auto&& build) {
    GraphBuilder b;
    build(b, b.input("x", {DType::kF32, {4, 64}}));
    return !stores_together(*b.finish());
  };
  base::Random random(5);
  const auto matrix = [&](GraphBuilder& b, std::int64_t columns) {
    return b.constant(ir::Tensor::random({DType::kF32, {64, columns}}, random));
  };
  // Of different widths, of different operands, of a product, and with a computed matrix.
  EXPECT_TRUE(refused([&](GraphBuilder& b, Value x) {
    b.output("a", b.add("matmul", {x, matrix(b, 64)}));
    b.output("b", b.add("matmul", {x, matrix(b, 128)}));
  }));
  EXPECT_TRUE(refused([&](GraphBuilder& b, Value x) {
    b.output("a", b.add("matmul", {x, matrix(b, 64)}));
    b.output("b", b.add("matmul", {b.input("z", {DType::kF32, {4, 64}}), matrix(b, 64)}));
  }));
  EXPECT_TRUE(refused([&](GraphBuilder& b, Value x) {
    const Value first = b.add("matmul", {x, matrix(b, 64)});
    b.output("a", first);
    b.output("b", b.add("matmul", {first, matrix(b, 64)}));
  }));
  EXPECT_TRUE(refused([&](GraphBuilder& b, Value x) {
    const Value product = b.add("matmul", {x, b.input("w", {DType::kF32, {64, 64}})});
    b.output("a", product);
    b.output("b", b.add("relu", {product}));
  }));
}

}  // namespace
}  // namespace egret::backends

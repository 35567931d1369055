// SPDX-License-Identifier: Apache-2.0
#include "driver/select/node_prices.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "driver/prices/movement_costs.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

// Prices by operator. Operators without one cost 1, by estimate.
class Table final : public cost::Model {
 public:
  explicit Table(std::map<std::string, double> measured) : measured_(std::move(measured)) {}
  std::string_view name() const override { return "table"; }
  base::Result<cost::Cost> cost(const cost::Query& query) override {
    const auto found = measured_.find(query.op->name());
    if (found == measured_.end()) return cost::Cost{.seconds = 1};
    return cost::Cost{.seconds = found->second, .kind = cost::CostKind::kMeasured};
  }

 private:
  std::map<std::string, double> measured_;
};

ir::Graph product_with_bias() {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {4, 8}));
  const ir::Value w = b.input("w", ir::TensorType(ir::DType::kF32, {8, 2}));
  const ir::Value c = b.input("c", ir::TensorType(ir::DType::kF32, {2}));
  b.output("y", b.add("fused_matmul", {x, w, c}));
  return *b.finish();
}

// Of the only operator.
double price(const ir::Graph& graph, std::map<std::string, double> measured) {
  const auto tensors = rules::TensorEGraph::from_graph(graph);
  EXPECT_TRUE(tensors.ok());
  const auto view = egraph::make_view((*tensors)->egraph(), (*tensors)->roots());
  Table table(std::move(measured));
  const auto prices = price_nodes(**tensors, view, table);
  EXPECT_TRUE(prices.ok());
  double sum = 0;
  for (const double one : *prices) sum += one;
  return sum;
}

TEST(NodePrices, ACompositeCostsAtMostItsBody) {
  const ir::Graph graph = product_with_bias();
  EXPECT_NEAR(price(graph, {{"fused_matmul", 9}, {"matmul", 5}, {"add", 1}}), 6, 0.01);
  EXPECT_NEAR(price(graph, {{"fused_matmul", 4}, {"matmul", 5}, {"add", 1}}), 4, 0.01);
  EXPECT_NEAR(price(graph, {}), 1, 0.01);
}

TEST(NodePrices, EstimatesOfTheBodyDoNotReplaceAMeasuredPrice) {
  const ir::Graph graph = product_with_bias();
  EXPECT_NEAR(price(graph, {{"fused_matmul", 9}}), 9, 0.01);
  EXPECT_NEAR(price(graph, {{"fused_matmul", 9}, {"matmul", 5}}), 9, 0.01);
}

TEST(MovementCosts, AddToOperatorsThatOnlyMoveData) {
  ir::GraphBuilder b;
  ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {4, 6}));
  x = b.add("transpose", {x}, {{"perm", ir::Integers{1, 0}}});
  x = b.add("reshape", {x}, {{"shape", ir::Integers{24}}});
  x = b.add("slice", {b.add("relu", {x})}, {{"axis", 0}, {"start", 0}, {"size", 12}});
  b.output("y", b.add("concat", {x, x}, {{"axis", 0}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(count_of_moves(*graph), 3);

  const auto tensors = rules::TensorEGraph::from_graph(*graph);
  ASSERT_TRUE(tensors.ok());
  const auto view = egraph::make_view((*tensors)->egraph(), (*tensors)->roots());
  Table table({{"relu", 2}, {"transpose", 1}, {"slice", 1}, {"concat", 1}, {"reshape", 0}});
  MovementCosts dear(table, 10);
  const auto usual = price_nodes(**tensors, view, table);
  const auto prices = price_nodes(**tensors, view, dear);
  ASSERT_TRUE(usual.ok() && prices.ok());
  double added = 0;
  for (std::size_t i = 0; i < prices->size(); ++i) added += (*prices)[i] - (*usual)[i];
  EXPECT_NEAR(added, 30, 1e-6);
}

}  // namespace
}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
// The number of groups of a convolution follows prices: merged groups are chosen where they pay.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>

#include "base/random.h"
#include "cost/model.h"
#include "driver/optimize.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Value;

// Grouped convolutions have the prices of this table by their number of groups, others 100; all
// that depends on constants alone is free, and any other operator costs 1.
class ByGroups final : public cost::Model {
 public:
  explicit ByGroups(std::map<std::int64_t, double> prices) : prices_(std::move(prices)) {}
  std::string_view name() const override { return "by-groups"; }
  base::Result<cost::Cost> cost(const cost::Query& query) override {
    if (query.all_constant()) return cost::Cost{};
    if (query.attrs->find("group") == nullptr) return cost::Cost{.seconds = 1};
    const auto price = prices_.find(query.attrs->integer("group"));
    return cost::Cost{.seconds = price == prices_.end() ? 100 : price->second};
  }

 private:
  std::map<std::int64_t, double> prices_;
};

// 32 groups of 4 channels, as the first stage of ResNeXt-50.
ir::Graph stage() {
  GraphBuilder b;
  base::Random random(1);
  const Value w = b.constant(ir::Tensor::random({DType::kF32, {128, 4, 3, 3}}, random));
  const Value y = b.add("conv", {b.input("x", {DType::kF32, {1, 128, 6, 6}}), w},
                        {{"strides", Integers{1, 1}},
                         {"dilations", Integers{1, 1}},
                         {"pads", Integers{1, 1, 1, 1}},
                         {"group", std::int64_t{32}}});
  b.output("y", b.add("relu", {y}));
  return *b.finish();
}

// The number of groups in the result. Its outputs were checked.
std::int64_t groups_with(std::map<std::int64_t, double> prices) {
  OptimizeOptions how;
  how.no_measure = true;
  how.cost_db = ":memory:";
  how.cost = "mine";
  how.own_cost = [&] { return std::make_unique<ByGroups>(prices); };
  const auto result = optimize(stage(), how);
  EXPECT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->report.check.made);
  for (const ir::Node& node : result->graph.nodes()) {
    if (node.kind == ir::NodeKind::kOperator && node.attrs.find("group") != nullptr)
      return node.attrs.integer("group");
  }
  return 0;
}

TEST(GroupsOfConvolutions, AreMergedAsFarAsPricesSay) {
  EXPECT_EQ(groups_with({{32, 9}, {16, 3}, {8, 5}}), 16);
  EXPECT_EQ(groups_with({{32, 9}, {16, 8}, {8, 5}}), 8);
}

TEST(GroupsOfConvolutions, StayWhereMergingDoesNotPay) {
  EXPECT_EQ(groups_with({{32, 3}, {16, 4}, {8, 7}}), 32);
}

}  // namespace
}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
#include "cost/profiled.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cost/key.h"

namespace egret::cost {
namespace {

class Profiled : public testing::Test {
 protected:
  static ParsedKey relu(std::int64_t elements) {
    return *ParsedKey::parse("relu(f32[" + std::to_string(elements) + "])");
  }
  // Gives the entries in turn.
  ProfiledModel::Measure gives(std::vector<Entry> entries) {
    entries_ = std::move(entries);
    return [this](const Query&) -> base::Result<Entry> { return entries_.at(calls_++); };
  }

  std::unique_ptr<Database> database_ = *Database::open(":memory:");
  std::vector<Entry> entries_;
  std::size_t calls_ = 0;
};

TEST_F(Profiled, EstimatesStayOptimisticAndExpectationsDoNot) {
  const Rates fastest{.flops_per_second = 1e12, .bytes_per_second = 1e12};
  const Rates usual{.flops_per_second = 1e10, .bytes_per_second = 1e10};
  ProfiledModel model(*database_, "m", fastest, usual);
  const ParsedKey key = relu(1 << 20);
  const auto optimistic = model.cost(key.query());
  const auto expected = model.expected(key.query());
  ASSERT_TRUE(optimistic.ok() && expected.ok());
  EXPECT_EQ(optimistic->kind, CostKind::kEstimated);
  EXPECT_EQ(expected->kind, CostKind::kEstimated);
  EXPECT_LT(50 * optimistic->seconds, expected->seconds);
}

TEST_F(Profiled, ExpectsWhatItsLikeTakeAndStillTriesIt) {
  const Rates rates{.flops_per_second = 1e12, .bytes_per_second = 1e12};
  ProfiledModel model(*database_, "m", rates);
  const auto measure = gives({{.runs = 1, .median_s = 0.1}, {.runs = 1, .median_s = 0.2}});
  const ParsedKey unknown = relu(150'000);
  EXPECT_EQ(model.expected(unknown.query())->kind, CostKind::kEstimated);
  ASSERT_TRUE(*model.profile(relu(100'000).query(), measure));
  ASSERT_TRUE(*model.profile(relu(200'000).query(), measure));
  const auto expected = model.expected(unknown.query());
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(expected->kind, CostKind::kInterpolated);
  EXPECT_NEAR(expected->seconds, 0.15, 0.015);
  const auto cost = model.cost(unknown.query());
  EXPECT_EQ(cost->kind, CostKind::kEstimated);
  EXPECT_LT(cost->seconds, 1e-3);
}

TEST_F(Profiled, AMeasurementThatIsSlowerOrVariesMoreIsNotKept) {
  ProfiledModel model(*database_, "m", Rates{});
  const ParsedKey key = relu(1000);
  const auto measure = gives({{.runs = 9, .median_s = 1.0, .deviation_s = 0.2},
                              {.runs = 9, .median_s = 0.9, .deviation_s = 0.4},
                              {.runs = 9, .median_s = 1.3, .deviation_s = 0.01}});
  ASSERT_TRUE(*model.profile(key.query(), measure));
  EXPECT_FALSE(*model.measure_again(key.query(), measure));
  EXPECT_FALSE(*model.measure_again(key.query(), measure));
  EXPECT_DOUBLE_EQ(model.cost(key.query())->seconds, 1.0);
}

TEST_F(Profiled, ABetterMeasurementReplacesTheEntryInTheDatabase) {
  ProfiledModel model(*database_, "m", Rates{});
  const ParsedKey key = relu(1000);
  const auto measure = gives({{.runs = 9, .median_s = 1.0, .deviation_s = 0.2},
                              {.runs = 9, .median_s = 0.8, .deviation_s = 0.01}});
  ASSERT_TRUE(*model.profile(key.query(), measure));
  EXPECT_TRUE(*model.measure_again(key.query(), measure));
  EXPECT_DOUBLE_EQ(model.cost(key.query())->seconds, 0.8);
  EXPECT_DOUBLE_EQ((*database_->find("m", key_of(key.query())))->median_s, 0.8);
}

TEST(IsNoisy, IsADeviationOfMoreThanATenth) {
  EXPECT_TRUE(is_noisy({.runs = 3, .median_s = 1, .deviation_s = 0.11}));
  EXPECT_FALSE(is_noisy({.runs = 3, .median_s = 1, .deviation_s = 0.09}));
  EXPECT_FALSE(is_noisy({.runs = 3, .median_s = 0, .deviation_s = 0.5})) << "there is no time";
}

}  // namespace
}  // namespace egret::cost

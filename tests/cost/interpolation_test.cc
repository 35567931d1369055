// SPDX-License-Identifier: Apache-2.0
// On times that follow a law, so that what is right is known.
#include "cost/interpolation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cost/key.h"
#include "cost/prediction_check.h"

namespace egret::cost {
namespace {

constexpr Rates kRates{
    .flops_per_second = 1e11, .bytes_per_second = 1e10, .seconds_per_kernel = 1e-6};

using Rows = std::vector<Database::Row>;
// The factor on the roofline at this much arithmetic.
using Factor = std::function<double(double flops)>;

std::string product(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  return "matmul(f32[" + std::to_string(rows) + "," + std::to_string(inner) + "], f32[" +
         std::to_string(inner) + "," + std::to_string(columns) + "] const)";
}

double roofline_of(const std::string& key) {
  const auto parsed = ParsedKey::parse(key);
  return make_model("roofline", kRates)->cost(parsed->query())->seconds;
}

double time_of(const std::string& key, const Factor& factor) {
  const auto parsed = ParsedKey::parse(key);
  const Query query = parsed->query();
  return roofline_of(key) * factor(ir::work_of(*query.op, *query.attrs, query.inputs)->flops);
}

Database::Row row(const std::string& key, double seconds) {
  return {"m", key, {.runs = 5, .median_s = seconds}};
}

// Products of sizes between 16 and 1024.
Rows products(const Factor& factor) {
  Rows rows;
  for (std::int64_t m = 16; m <= 1024; m *= 4) {
    for (std::int64_t k = 16; k <= 1024; k *= 2) {
      for (std::int64_t n = 16; n <= 1024; n *= 4)
        rows.push_back(row(product(m, k, n), time_of(product(m, k, n), factor)));
    }
  }
  return rows;
}

double seconds_of(const Interpolation& interpolation, const std::string& key) {
  const auto parsed = ParsedKey::parse(key);
  const auto predicted = interpolation.predict(parsed->query());
  return predicted ? predicted->seconds : -1;
}

double same(double /*flops*/) { return 2.5; }
// A fifth of the peak at a thousand operations, nearly all of it at a billion.
double better_with_size(double flops) { return 1 + 4 * std::exp(-(std::log(flops) - 7) / 5); }

TEST(Interpolation, IsRightWhereOneEfficiencyHolds) {
  const Interpolation interpolation(products(same), kRates);
  for (const std::string& key :
       {product(48, 96, 200), product(300, 300, 300), product(17, 900, 33)})
    EXPECT_NEAR(seconds_of(interpolation, key) / time_of(key, same), 1, 1e-6) << key;
}

TEST(Interpolation, IsBetterThanTheRooflineWhereEfficiencyVariesWithSize) {
  const PredictionCheck check = check_leaving_one_out(products(better_with_size), kRates);
  EXPECT_EQ(check.all.predicted, check.all.entries);
  EXPECT_LT(check.all.median, 0.05);
  EXPECT_LT(check.all.p90, 0.2);
  EXPECT_GT(check.all.roofline_median, 5 * check.all.median);
}

TEST(Interpolation, IsNotLedAwayByAnOutlier) {
  Rows rows = products(same);
  for (Database::Row& each : rows)
    if (each.key == product(64, 128, 64)) each.entry.median_s *= 50;
  const Interpolation interpolation(rows, kRates);
  const std::string key = product(64, 120, 60);
  EXPECT_NEAR(seconds_of(interpolation, key) / time_of(key, same), 1, 0.05);
}

TEST(Interpolation, StaysNearWhatItsNeighboursSpan) {
  const Factor steep = [](double flops) { return std::pow(flops, 0.5); };
  Rows rows;
  for (const std::int64_t n : {64, 72, 80, 96})
    rows.push_back(row(product(n, n, n), time_of(product(n, n, n), steep)));
  const Interpolation interpolation(rows, kRates);
  const double largest = rows.back().entry.median_s / roofline_of(rows.back().key);
  EXPECT_LT(seconds_of(interpolation, product(200, 200, 200)) / roofline_of(product(200, 200, 200)),
            1.5 * largest);
}

TEST(Interpolation, SaysHowNearItsNeighboursAre) {
  const Interpolation interpolation(products(same), kRates);
  const auto near = ParsedKey::parse(product(65, 129, 64));
  const auto far = ParsedKey::parse(product(4000, 3000, 2000));
  const auto sure = interpolation.predict(near->query());
  const auto unsure = interpolation.predict(far->query());
  ASSERT_TRUE(sure && unsure);
  EXPECT_EQ(sure->neighbours, 8);
  EXPECT_LT(sure->distance, 0.1);
  EXPECT_GT(unsure->distance, 1);
  EXPECT_TRUE(sure->same_attrs);
  const auto beyond = ParsedKey::parse(product(100'000, 100'000, 100'000));
  EXPECT_FALSE(interpolation.predict(beyond->query())) << "nothing measured is near";
}

TEST(Interpolation, TakesOtherAttributesOnlyWhereThereAreTooFew) {
  const auto sum = [](int axis, int size) {
    return "softmax{axis=" + std::to_string(axis) + "}(f32[" + std::to_string(size) + "," +
           std::to_string(size) + "])";
  };
  Rows rows;
  for (const int size : {100, 110, 120, 130}) {
    rows.push_back(row(sum(0, size), 10 * roofline_of(sum(0, size))));
    rows.push_back(row(sum(1, size), 2 * roofline_of(sum(1, size))));
  }
  const Interpolation both(rows, kRates);
  EXPECT_NEAR(seconds_of(both, sum(1, 115)) / roofline_of(sum(1, 115)), 2, 0.01);
  std::erase_if(rows,
                [](const Database::Row& each) { return each.key.starts_with("softmax{axis=1"); });
  const Interpolation other(rows, kRates);
  const auto asked = ParsedKey::parse(sum(1, 115));
  const auto predicted = other.predict(asked->query());
  ASSERT_TRUE(predicted);
  EXPECT_FALSE(predicted->same_attrs);
  EXPECT_NEAR(predicted->seconds / roofline_of(sum(1, 115)), 10, 0.1);
}

TEST(Interpolation, CallsFreeWhatItsNeighboursCallFree) {
  const Interpolation interpolation(
      {row("relu(f32[1000])", 0), row("relu(f32[1200])", 0), row("relu(f32[5000])", 1e-6)}, kRates);
  EXPECT_EQ(seconds_of(interpolation, "relu(f32[1100])"), 0);
}

TEST(Interpolation, DoesNotDependOnTheOrderOfEntries) {
  Rows rows = products(better_with_size);
  const std::string key = product(100, 100, 100);
  const double seconds = seconds_of(Interpolation(rows, kRates), key);
  std::ranges::reverse(rows);
  EXPECT_EQ(seconds_of(Interpolation(rows, kRates), key), seconds);
}

TEST(Interpolation, PassesOverRowsThatAreNoOperators) {
  const Interpolation interpolation(
      {row("kernel conv", 1), row("race 1, 0: graph 2", 1), row("relu(f32[10])", 1)}, kRates);
  EXPECT_EQ(interpolation.size(), 1);
}

TEST(InterpolatedModel, TellsMeasuredInterpolatedAndEstimatedApart) {
  InterpolatedModel model({row("relu(f32[1000])", 4e-6), row("relu(f32[1200])", 5e-6)}, kRates);
  const auto kind = [&](const std::string& key) {
    const auto parsed = ParsedKey::parse(key);
    return model.cost(parsed->query())->kind;
  };
  EXPECT_EQ(kind("relu(f32[1000])"), CostKind::kMeasured);
  EXPECT_EQ(kind("relu(f32[1100])"), CostKind::kInterpolated);
  EXPECT_EQ(kind("exp(f32[1100])"), CostKind::kEstimated);
}

TEST(PredictionCheck, FromAnotherDatabasePassesOverWhatThatHas) {
  const Rows known = products(same);
  Rows rows = known;
  const std::string fresh = product(48, 48, 48);
  rows.push_back(row(fresh, 1.1 * time_of(fresh, same)));
  rows.push_back(row("relu(f32[1100])", 0));
  const PredictionCheck check = check_from(rows, known, kRates);
  EXPECT_EQ(check.all.entries, 1);
  EXPECT_EQ(check.free, 1);
  EXPECT_NEAR(check.all.median, 0.1, 1e-6);
  EXPECT_NEAR(check.all.roofline_median, 1.75, 1e-6);
}

}  // namespace
}  // namespace egret::cost

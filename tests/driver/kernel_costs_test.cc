// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_costs.h"

#include <gtest/gtest.h>

#include "zoo/zoo.h"

namespace egret::driver {
namespace {

class KernelCostsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto database = cost::Database::open(":memory:");
    ASSERT_TRUE(database.ok());
    database_ = *std::move(database);
  }
  KernelPrediction predict(std::string_view model, backends::PlanOptions options = {}) {
    const auto graph = zoo::find_model(model)->build({});
    EXPECT_TRUE(graph.ok());
    options.profile = true;
    const auto plan = backends::find_backend("cpu")->compile(*graph, options);
    EXPECT_TRUE(plan.ok());
    const auto prediction = KernelCosts(*database_, "this machine").predict(**plan);
    EXPECT_TRUE(prediction.ok()) << prediction.status().message();
    return prediction.ok() ? *prediction : KernelPrediction{};
  }

  std::unique_ptr<cost::Database> database_;
};

TEST_F(KernelCostsTest, AKernelIsTimedOnceAndKept) {
  const KernelPrediction first = predict("squeezenet1.1");
  EXPECT_GT(first.seconds, 0);
  EXPECT_EQ(first.known_s, 0);
  const auto rows = database_->rows()->size();
  const KernelPrediction again = predict("squeezenet1.1");
  EXPECT_EQ(again.seconds, first.seconds);
  EXPECT_NEAR(again.known_s, first.seconds, 1e-9 * first.seconds);
  EXPECT_EQ(database_->rows()->size(), rows);
}

TEST_F(KernelCostsTest, KernelsThatTakeOtherOperatorsAlongAreOthers) {
  const KernelPrediction fused = predict("squeezenet1.1");
  const KernelPrediction alone = predict("squeezenet1.1", {.fuse = false});
  EXPECT_LT(alone.known_s, alone.seconds);
  EXPECT_LT(alone.known_s, fused.seconds);
}

TEST_F(KernelCostsTest, ABackendThatDoesNotTellItsKernelsApartIsRefused) {
  const auto graph = zoo::find_model("squeezenet1.1")->build({});
  const auto plan = backends::find_backend("reference")->compile(*graph, {.profile = true});
  ASSERT_TRUE(plan.ok());
  const auto prediction = KernelCosts(*database_, "this machine").predict(**plan);
  EXPECT_EQ(prediction.status().code(), base::StatusCode::kUnsupported);
}

}  // namespace
}  // namespace egret::driver

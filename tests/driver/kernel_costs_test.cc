// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_costs.h"

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
  static std::unique_ptr<backends::ExecutablePlan> plan_of(std::string_view model,
                                                           backends::CompileOptions options = {}) {
    const auto graph = zoo::find_model(model)->build({});
    EXPECT_TRUE(graph.ok());
    options.profile = true;
    auto plan = backends::find_backend("cpu")->compile(*graph, options);
    EXPECT_TRUE(plan.ok());
    return *std::move(plan);
  }
  // All of them learned from together.
  std::vector<KernelPrediction> predict(std::span<backends::ExecutablePlan* const> plans) {
    KernelCosts costs(*database_, "this machine");
    const base::Status learned = costs.learn(plans);
    EXPECT_TRUE(learned.ok()) << learned.message();
    std::vector<KernelPrediction> predictions;
    for (const backends::ExecutablePlan* plan : plans) predictions.push_back(costs.predict(*plan));
    return predictions;
  }
  KernelPrediction predict(std::string_view model, backends::CompileOptions options = {}) {
    const auto plan = plan_of(model, options);
    backends::ExecutablePlan* const plans[] = {plan.get()};
    return predict(plans).front();
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

// One plan is not run, as it has nothing new: its twin told all.
TEST_F(KernelCostsTest, PlansThatShareKernelsAgree) {
  const auto one = plan_of("squeezenet1.1");
  const auto twin = plan_of("squeezenet1.1");
  const auto alone = plan_of("squeezenet1.1", {.fuse = false});
  backends::ExecutablePlan* const plans[] = {one.get(), twin.get(), alone.get()};
  const std::vector<KernelPrediction> predicted = predict(plans);
  EXPECT_EQ(predicted[0].seconds, predicted[1].seconds);
  // Of the kernels that both kinds of plans hold there are two timings.
  EXPECT_GT(predicted[0].known_s, 0);
  EXPECT_LT(predicted[0].known_s, predicted[0].seconds);
  EXPECT_GT(predicted[2].known_s, 0);
}

TEST_F(KernelCostsTest, APlanThatIsProfiledNoMoreTellsNoTimes) {
  const auto plan = plan_of("squeezenet1.1");
  const auto inputs = backends::random_inputs(*plan, base::Random(1));
  ASSERT_TRUE(plan->run(inputs).ok());
  const double last_s = plan->report().kernels.front().last_s;
  EXPECT_GT(last_s, 0);
  plan->stop_profiling();
  for (int run = 0; run < 3; ++run) ASSERT_TRUE(plan->run(inputs).ok());
  EXPECT_EQ(plan->report().kernels.front().last_s, last_s);
}

TEST_F(KernelCostsTest, ABackendThatDoesNotTellItsKernelsApartIsRefused) {
  const auto graph = zoo::find_model("squeezenet1.1")->build({});
  const auto plan = backends::find_backend("reference")->compile(*graph, {.profile = true});
  ASSERT_TRUE(plan.ok());
  backends::ExecutablePlan* const plans[] = {plan->get()};
  const base::Status learned = KernelCosts(*database_, "this machine").learn(plans);
  EXPECT_EQ(learned.code(), base::StatusCode::kUnsupported);
}

}  // namespace
}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
#include "driver/operator_costs.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/stop.h"
#include "driver/optimize.h"
#include "ir/builder.h"

namespace egret::driver {
namespace {

// Two products of one input, and an activation.
ir::Graph two_products() {
  ir::GraphBuilder b;
  base::Random random(1);
  const ir::TensorType type(ir::DType::kF32, {8, 8});
  const ir::Value x = b.input("x", type);
  const auto product = [&] {
    return b.add("matmul", {x, b.constant(ir::Tensor::random(type, random))});
  };
  const ir::Value left = product();
  b.output("y", b.add("relu", {b.add("add", {left, product()})}));
  return *b.finish();
}

class OperatorCosts : public testing::Test {
 protected:
  OperatorCosts() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.cost_db = path_;
    options_.threads = 1;
  }
  ~OperatorCosts() override { std::filesystem::remove_all(folder_); }
  ProfileReport run(base::ProgressSink* sink = nullptr) {
    auto report = profile(two_products(), options_, sink);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? *report : ProfileReport{};
  }

  // Tests run side by side: each has a folder of its own.
  const std::string folder_ = testing::TempDir() + "operator_costs." +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = folder_ + "/costs.sqlite";
  ProfileOptions options_;
};

TEST_F(OperatorCosts, MeasuresEachOperatorOnce) {
  const ProfileReport first = run();
  EXPECT_GE(first.operators, 3);  // matmul, add, relu, and what rules make of them
  EXPECT_EQ(first.known, 0);
  EXPECT_EQ(first.measured, first.operators);
  EXPECT_EQ(first.left, 0);
  EXPECT_TRUE(first.failures.empty()) << first.failures.front();
  const ProfileReport second = run();
  EXPECT_EQ(second.operators, first.operators);
  EXPECT_EQ(second.known, first.operators);
  EXPECT_EQ(second.measured, 0);
}

TEST_F(OperatorCosts, LeaveNothingToMeasureForOptimize) {
  run();
  OptimizeOptions optimizing;
  optimizing.cost_db = path_;
  optimizing.threads = 1;
  optimizing.no_measure = true;
  const auto result = optimize(two_products(), optimizing);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->report.operators_measured, 0);
  EXPECT_EQ(result->report.operators_estimated, 0);
}

TEST_F(OperatorCosts, AreLeftWhenTheTimeIsOver) {
  options_.profile_time = 0;
  const ProfileReport none = run();
  EXPECT_EQ(none.measured, 0);
  EXPECT_EQ(none.left, none.operators);
}

// Asks the process to stop at the first operator, as a signal would.
class StopAtFirst final : public base::ProgressSink {
 public:
  void begin_phase(std::string_view) override {}
  bool due() override { return true; }
  void report(const base::ProgressReport& report) override {
    if (report.phase == "profile") base::request_stop(SIGINT);
  }
  void end_phase(std::string_view, double) override {}
};

TEST_F(OperatorCosts, GoOnWhereTheyWereCutShort) {
  StopAtFirst sink;
  const ProfileReport first = run(&sink);
  base::request_stop(0);
  EXPECT_EQ(first.measured, 1);
  EXPECT_EQ(first.left, first.operators - 1);
  const ProfileReport rest = run();
  EXPECT_EQ(rest.known, 1);
  EXPECT_EQ(rest.measured, first.left);
}

TEST_F(OperatorCosts, SayThatTheDatabaseIsOfAnotherMachine) {
  {
    const auto database = cost::Database::open(path_);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->store("another", "relu", {.runs = 3, .median_s = 1e-3}).ok());
  }
  options_.profile_time = 0;
  EXPECT_EQ(run().of_other_machines, 1);
}

TEST_F(OperatorCosts, NameWhatDoesNotExist) {
  options_.backend = "abacus";
  const auto report = profile(two_products(), options_);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::driver

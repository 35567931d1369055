// SPDX-License-Identifier: Apache-2.0
#include "driver/operator_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/stop.h"
#include "driver/optimize.h"
#include "ir/builder.h"

namespace egret::driver {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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

TEST(DoubtAboutCosts, IsOfLargeDifferencesAlone) {
  EXPECT_EQ(doubt_about_costs(0.020, 0.019), "");
  EXPECT_EQ(doubt_about_costs(0.020, 0.010), "");
  EXPECT_EQ(doubt_about_costs(9e-4, 1e-4), "");
  EXPECT_NE(doubt_about_costs(0.305, 0.019), "");
  EXPECT_NE(doubt_about_costs(0.019, 0.305), "");
}

TEST_F(OperatorCosts, AreDoubtedWhenTheyAreFarFromWhatIsMeasured) {
  run();
  OptimizeOptions optimizing;
  optimizing.cost_db = path_;
  optimizing.threads = 1;
  optimizing.measure_time = 0.01;
  const auto result = optimize(two_products(), optimizing);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(result->report.extraction_notes, Not(Contains(HasSubstr("measured costs"))));
  {
    auto database = cost::Database::open(path_);
    ASSERT_TRUE(database.ok());
    const auto rows = (*database)->rows();
    ASSERT_TRUE(rows.ok());
    for (const cost::Database::Row& row : *rows) {
      const cost::Entry slow{.runs = 3, .median_s = 0.1};
      ASSERT_TRUE((*database)->store(row.machine, row.key, slow).ok());
    }
  }
  const auto spoiled = optimize(two_products(), optimizing);
  ASSERT_TRUE(spoiled.ok()) << spoiled.status().message();
  EXPECT_THAT(spoiled->report.extraction_notes, Contains(HasSubstr("measured costs")));
}

TEST_F(OperatorCosts, NameWhatDoesNotExist) {
  options_.backend = "abacus";
  const auto report = profile(two_products(), options_);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::driver

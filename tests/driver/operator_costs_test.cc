// SPDX-License-Identifier: Apache-2.0
#include "driver/select/operator_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "base/stop.h"
#include "driver/measure/calibration.h"
#include "driver/measure/machine_fingerprint.h"
#include "driver/optimize.h"
#include "ir/graph/builder.h"

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
    keep_rates();  // measuring them takes a second
  }
  ~OperatorCosts() override { std::filesystem::remove_all(folder_); }
  static std::string machine() { return machine_fingerprint({.threads = 1}); }
  void keep_rates() const {
    const auto database = cost::Database::open(path_);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->store_rates(machine(), assumed_rates({.threads = 1})).ok());
  }
  ProfileReport run(base::ProgressSink* sink = nullptr,
                    const cost::ProfiledModel::Measure& measure = {}) {
    auto report = profile(two_products(), options_, sink, measure);
    EXPECT_TRUE(report.ok()) << report.status().message();
    trust_all();
    return report.ok() ? *report : ProfileReport{};
  }

  // Other tests run beside this one, and entries that they disturb would be measured again.
  void trust_all() const { trust_all(path_); }
  static void trust_all(const std::string& path) {
    const auto database = cost::Database::open(path);
    ASSERT_TRUE(database.ok());
    std::vector<cost::Database::Row> rows = *(*database)->rows();
    for (cost::Database::Row& row : rows) {
      row.entry.disturbed = false;
      ASSERT_TRUE((*database)->store(row.machine, row.key, row.entry).ok());
    }
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
  EXPECT_EQ(result->report.extraction.operators_measured, 0);
  EXPECT_EQ(result->report.extraction.operators_estimated, 0);
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
  const ProfileReport report = run();
  EXPECT_EQ(report.of_other_machines, 1);
  EXPECT_EQ(report.known, 0);
  EXPECT_EQ(report.measured, report.operators) << "they are measured anew";
  EXPECT_EQ(run().of_other_machines, 0);
}

TEST_F(OperatorCosts, OfAnotherMachineAreNotTakenByOptimize) {
  run();
  std::vector<cost::Database::Row> rows;
  {
    const auto database = cost::Database::open(path_);
    ASSERT_TRUE(database.ok());
    rows = *(*database)->rows();
  }
  OptimizeOptions optimizing;
  optimizing.cost_db = folder_ + "/moved.sqlite";
  optimizing.threads = 1;
  optimizing.no_measure = true;
  {
    const auto moved = cost::Database::open(optimizing.cost_db);
    ASSERT_TRUE(moved.ok());
    for (const cost::Database::Row& row : rows)
      ASSERT_TRUE((*moved)->store("another", row.key, row.entry).ok());
  }
  const auto first = optimize(two_products(), optimizing);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_THAT(first->report.predicted.warning, HasSubstr("of other machines"));
  EXPECT_GT(first->report.extraction.operators_measured, 0);
  trust_all(optimizing.cost_db);
  const auto second = optimize(two_products(), optimizing);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(second->report.predicted.warning, "");
  EXPECT_EQ(second->report.extraction.operators_measured, 0);
}

// Every measurement after the first of an operator is quieter.
class QuietLater {
 public:
  explicit QuietLater(int noisy_times) : noisy_times_(noisy_times) {}
  base::Result<cost::Entry> operator()(const cost::Query& query) {
    const bool noisy = times_[cost::key_of(query)]++ < noisy_times_;
    return cost::Entry{.runs = 5, .median_s = 1e-5, .deviation_s = noisy ? 5e-6 : 1e-7};
  }

 private:
  int noisy_times_;
  std::map<std::string, int> times_;
};

TEST_F(OperatorCosts, ThatAreNoisyAreMeasuredAgain) {
  const ProfileReport report = run(nullptr, QuietLater(1));
  EXPECT_EQ(report.measured_again, report.operators);
  EXPECT_EQ(report.improved, report.operators);
  EXPECT_EQ(report.noisy, 0);
  const ProfileReport later = run(nullptr, QuietLater(1));
  EXPECT_EQ(later.measured_again, 0) << "the better ones were kept";
}

TEST_F(OperatorCosts, ThatStayNoisyAreCounted) {
  const ProfileReport report = run(nullptr, QuietLater(100));
  EXPECT_GT(report.measured_again, report.operators);
  EXPECT_EQ(report.improved, 0);
  EXPECT_EQ(report.noisy, report.operators);
}

TEST_F(OperatorCosts, ThatAreNoisyWaitWhereNoTimeIsLeft) {
  run(nullptr, QuietLater(100));
  options_.profile_time = 0;
  const ProfileReport report = run(nullptr, QuietLater(0));
  EXPECT_EQ(report.measured_again, 0);
  EXPECT_EQ(report.noisy, report.operators);
}

TEST_F(OperatorCosts, BeginWithTheRatesOfTheMachine) {
  std::filesystem::remove(path_);
  options_.profile_time = 0;
  const ProfileReport report = run();
  EXPECT_TRUE(report.rates.measured);
  const auto database = cost::Database::open(path_);
  ASSERT_TRUE(database.ok());
  const auto rates = (*database)->find_rates(machine());
  ASSERT_TRUE(rates.ok() && rates->has_value());
  EXPECT_GT((*rates)->flops_per_second, 1e8);
  EXPECT_EQ((*rates)->flops_per_second, report.rates.rates.flops_per_second);
  EXPECT_EQ(run().rates.rates.flops_per_second, (*rates)->flops_per_second) << "kept";
}

TEST_F(OperatorCosts, ThatWereNotMeasuredAreInterpolatedInPredictions) {
  {
    const auto database = cost::Database::open(path_);
    ASSERT_TRUE(database.ok());
    const cost::Entry slow{.runs = 3, .median_s = 0.01};
    for (const std::string_view key :
         {"matmul(f32[8,8], f32[8,9] const)", "matmul(f32[8,9], f32[9,8] const)",
          "matmul(f32[9,8], f32[8,8] const)"})
      ASSERT_TRUE((*database)->store(machine(), key, slow).ok());
  }
  OptimizeOptions optimizing;
  optimizing.cost_db = path_;
  optimizing.threads = 1;
  optimizing.no_measure = true;
  optimizing.profile_time = 0;
  optimizing.rules = "matmul-associates-back";  // leaves the graph as it is
  const auto result = optimize(two_products(), optimizing);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const OptimizeReport& report = result->report;
  EXPECT_EQ(report.predicted.interpolated, 2);
  EXPECT_EQ(report.predicted.estimated, 2) << "an addition and a relu, of which nothing is known";
  EXPECT_GT(report.predicted.before_s, 0.019) << "two products";
  EXPECT_LT(report.predicted.before_s, 0.021);
  EXPECT_LT(report.extraction.cost_s, 1e-3) << "the choice rests on optimistic estimates";
}

TEST_F(OperatorCosts, AreInterpolatedWithoutMeasuring) {
  run(nullptr, QuietLater(0));
  OptimizeOptions optimizing;
  optimizing.cost_db = path_;
  optimizing.threads = 1;
  optimizing.no_measure = true;
  optimizing.cost = "interpolated";
  const auto result = optimize(two_products(), optimizing);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->report.extraction.operators_measured, 0);
  EXPECT_EQ(result->report.predicted.cost_model, "interpolated");
  EXPECT_EQ(result->report.predicted.interpolated, 0) << "all were measured before";
  EXPECT_NEAR(result->report.predicted.before_s, 4e-5, 1e-8);
  optimizing.cost_machine = "nobody's";
  const auto of_nobody = optimize(two_products(), optimizing);
  ASSERT_FALSE(of_nobody.ok());
  EXPECT_EQ(of_nobody.status().code(), base::StatusCode::kUsage);
  optimizing.cost_machine = "1 threads";
  EXPECT_TRUE(optimize(two_products(), optimizing).ok());
}

TEST_F(OperatorCosts, EstimatesRestOnTheRatesThatAreKnown) {
  const cost::Rates slow{
      .flops_per_second = 1e6, .bytes_per_second = 1e6, .seconds_per_kernel = 1e-6};
  {
    const auto database = cost::Database::open(path_);
    ASSERT_TRUE((*database)->store_rates(machine(), slow).ok());
  }
  OptimizeOptions optimizing;
  optimizing.cost_db = path_;
  optimizing.threads = 1;
  optimizing.no_measure = true;
  optimizing.cost = "roofline";
  const auto measured = optimize(two_products(), optimizing);
  optimizing.cost_db = folder_ + "/none.sqlite";
  const auto assumed = optimize(two_products(), optimizing);
  ASSERT_TRUE(measured.ok() && assumed.ok());
  EXPECT_TRUE(measured->report.predicted.rates.measured);
  EXPECT_FALSE(assumed->report.predicted.rates.measured);
  EXPECT_GT(measured->report.predicted.before_s, 100 * assumed->report.predicted.before_s);
  EXPECT_FALSE(std::filesystem::exists(optimizing.cost_db)) << "estimates need no database";
}

TEST_F(OperatorCosts, AreTriedHoweverSlowTheRatesAre) {
  const cost::Rates slow{.flops_per_second = 1e3, .bytes_per_second = 1e3, .seconds_per_kernel = 1};
  const auto database = cost::Database::open(path_);
  ASSERT_TRUE((*database)->store_rates(machine(), slow).ok());
  const auto known = known_rates(**database, machine(), {.threads = 1});
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->rates.flops_per_second, 1e3);
  EXPECT_GE(known->fastest.flops_per_second, assumed_rates({.threads = 1}).flops_per_second);
  EXPECT_LE(known->fastest.seconds_per_kernel, assumed_rates({.threads = 1}).seconds_per_kernel);
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
  EXPECT_THAT(result->report.extraction.notes, Not(Contains(HasSubstr("measured costs"))));
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
  EXPECT_THAT(spoiled->report.extraction.notes, Contains(HasSubstr("measured costs")));
}

TEST_F(OperatorCosts, NameWhatDoesNotExist) {
  options_.backend = "abacus";
  const auto report = profile(two_products(), options_);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::driver

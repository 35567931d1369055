// SPDX-License-Identifier: Apache-2.0
// A database of costs that lies: what it calls the cheapest graph is slow, and the race of the
// candidates finds that out.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "cost/database.h"
#include "driver/optimize.h"
#include "driver/select/operator_costs.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

constexpr std::int64_t kSize = 384;

// A (B v): two products of a matrix and a vector. Another form is (A B) v, which takes some hundred
// times the arithmetic.
ir::Graph chain() {
  ir::GraphBuilder b;
  const ir::TensorType matrix(ir::DType::kF32, {kSize, kSize});
  const ir::Value left = b.input("a", matrix);
  const ir::Value right = b.input("b", matrix);
  const ir::Value vector = b.input("v", ir::TensorType(ir::DType::kF32, {kSize, 1}));
  b.output("y", b.add("matmul", {left, b.add("matmul", {right, vector})}));
  return *b.finish();
}

bool multiplies_matrices(const ir::Graph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.kind == ir::NodeKind::kOperator && node.type.elements() == kSize * kSize) return true;
  }
  return false;
}

class WrongCosts : public testing::Test {
 protected:
  WrongCosts() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.cost_db = folder_ + "/costs.sqlite";
    options_.rules = "matmul-associates-back";
    options_.threads = 1;
    options_.measure_time = 0.05;
  }
  ~WrongCosts() override { std::filesystem::remove_all(folder_); }

  // Measures all operators of equal forms, then calls the product of two matrices free.
  void lie() {
    ProfileOptions profiling;
    profiling.cost_db = options_.cost_db;
    profiling.rules = options_.rules;
    profiling.threads = options_.threads;
    ASSERT_TRUE(profile(chain(), profiling).ok());
    const auto database = cost::Database::open(options_.cost_db);
    ASSERT_TRUE(database.ok());
    const auto rows = (*database)->rows();
    ASSERT_TRUE(rows.ok());
    const std::string matrix = ir::to_string(ir::TensorType(ir::DType::kF32, {kSize, kSize}));
    int changed = 0;
    for (const cost::Database::Row& row : *rows) {
      if (row.key.find("(" + matrix + ", " + matrix + ")") == std::string::npos) continue;
      const cost::Entry free{.runs = 3, .median_s = 1e-9};
      ASSERT_TRUE((*database)->store(row.machine, row.key, free).ok());
      ++changed;
    }
    ASSERT_EQ(changed, 1);
  }
  OptimizeResult run() {
    auto result = optimize(chain(), options_);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *std::move(result) : OptimizeResult{};
  }

  const std::string folder_ = testing::TempDir() + "wrong_costs." +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
  OptimizeOptions options_;
};

TEST_F(WrongCosts, AreBelievedWhereNothingIsMeasured) {
  lie();
  options_.no_measure = true;
  const OptimizeResult result = run();
  EXPECT_TRUE(multiplies_matrices(result.graph));
  EXPECT_LT(result.report.predicted.after_s, result.report.predicted.before_s);
}

TEST_F(WrongCosts, AreCaughtByTheRace) {
  lie();
  const OptimizeResult result = run();
  const OptimizeReport& r = result.report;
  EXPECT_FALSE(multiplies_matrices(result.graph));
  EXPECT_TRUE(r.check.made && r.check.outputs.passed);
  // It was predicted to win, ran, and lost clearly.
  ASSERT_FALSE(r.race.candidates.empty());
  EXPECT_EQ(r.race.candidates.front().name, "cheapest");
  EXPECT_NE(r.race.chosen, "cheapest");
  EXPECT_LT(r.race.candidates.front().predicted_s, r.predicted.before_s);
  EXPECT_GT(r.race.candidates.front().measured.median_s, 2 * r.race.before.median_s);
  EXPECT_LE(r.race.after.median_s, 1.05 * r.race.before.median_s);
}

// The kernels of plans, by which alternatives are predicted as well, do not take part in the lie.
TEST_F(WrongCosts, AreCaughtByKernels) {
  lie();
  options_.alternatives = 3;
  const OptimizeResult result = run();
  const OptimizeReport& r = result.report;
  ASSERT_FALSE(r.race.candidates.empty());
  EXPECT_GT(r.race.candidates.front().kernels.seconds, 2 * r.predicted.kernels_before.seconds);
  EXPECT_NE(r.race.chosen, "cheapest");
}

// Transposes seem free, and the sum in their layout a little cheaper: the cheapest graph keeps
// both.
TEST_F(WrongCosts, OfTransposesDoNotHideAGraphWithFewerOfThem) {
  ir::GraphBuilder b;
  const ir::TensorType type(ir::DType::kF32, {48, 64});
  const auto transposed = [&](ir::Value x) {
    return b.add("transpose", {x}, {{"perm", ir::Integers{1, 0}}});
  };
  b.output("y", b.add("add", {transposed(b.input("x", type)), transposed(b.input("z", type))}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  options_.rules = "add-of-transposes";
  ProfileOptions profiling;
  profiling.cost_db = options_.cost_db;
  profiling.rules = options_.rules;
  profiling.threads = options_.threads;
  ASSERT_TRUE(profile(*graph, profiling).ok());
  {
    const auto database = cost::Database::open(options_.cost_db);
    ASSERT_TRUE(database.ok());
    const auto rows = (*database)->rows();
    ASSERT_TRUE(rows.ok());
    for (const cost::Database::Row& row : *rows) {
      const bool moves = row.key.starts_with("transpose");
      const double seconds = moves ? 1e-9 : row.key.find("[64,48]") != row.key.npos ? 1e-6 : 1.1e-6;
      ASSERT_TRUE((*database)->store(row.machine, row.key, {.runs = 3, .median_s = seconds}).ok());
    }
  }
  const auto result = optimize(*graph, options_);
  ASSERT_TRUE(result.ok()) << result.status().message();
  std::map<std::string, int> operators;
  for (const auto& candidate : result->report.race.candidates)
    operators[candidate.name] = candidate.operators;
  EXPECT_EQ(operators["cheapest"], 3);
  EXPECT_EQ(operators["least movement"], 2);
}

TEST_F(WrongCosts, AreNotCheckedWhereSlowerIsAllowed) {
  lie();
  options_.allow_slower = true;
  EXPECT_TRUE(multiplies_matrices(run().graph));
}

}  // namespace
}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_choice.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "base/progress.h"
#include "base/stop.h"
#include "cost/database.h"
#include "driver/optimize.h"
#include "ir/graph/builder.h"
#include "ir/graph/graph_text.h"
#include "zoo/zoo.h"

namespace egret::driver {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Value;

// Two convolutions with bias and relu, a sum with the first, a mean and a product with softmax.
ir::Graph small_network() {
  GraphBuilder b;
  base::Random random(7);
  const auto weights = [&](ir::Shape shape) {
    return b.constant(ir::Tensor::random({DType::kF32, shape}, random));
  };
  const ir::Attrs same{{"strides", ir::Integers{1, 1}},
                       {"dilations", ir::Integers{1, 1}},
                       {"pads", ir::Integers{1, 1, 1, 1}}};
  const Value x = b.input("x", {DType::kF32, {1, 16, 14, 14}});
  const auto layer = [&](Value value) {
    const Value y = b.add("conv", {value, weights({16, 16, 3, 3})}, same);
    return b.add("relu", {b.add("add", {y, weights({16, 1, 1})})});
  };
  const Value first = layer(x);
  const Value sum = b.add("add", {layer(first), first});
  const Value mean = b.add("reduce_mean", {sum}, {{"axes", ir::Integers{2, 3}}});
  const Value flat = b.add("reshape", {mean}, {{"shape", ir::Integers{1, 16}}});
  b.output("y", b.add("softmax", {b.add("matmul", {flat, weights({16, 10})})},
                      {{"axis", std::int64_t{1}}}));
  return *b.finish();
}

OptimizeOptions by_kernels() {
  OptimizeOptions options;
  options.kernels_from = "egraph";
  options.cost_db = ":memory:";
  options.threads = 1;
  options.profile_time = 5;
  options.measure_time = 0.1;
  return options;
}

TEST(KernelChoice, GivesACheckedProgramWhoseKernelsArePredicted) {
  const auto result = optimize(small_network(), by_kernels());
  ASSERT_TRUE(result.ok()) << result.status().message();
  const OptimizeReport& report = result->report;
  EXPECT_TRUE(report.check.outputs.passed);
  ASSERT_FALSE(report.race.candidates.empty());
  // Either a program of its own, or the one of the others that is fastest as the backend divides
  // it.
  for (const OptimizeReport::Race::Entry& candidate : report.race.candidates)
    EXPECT_GT(candidate.predicted_s, 0);
  EXPECT_FALSE(report.predicted.operators_before.empty());
  EXPECT_GT(report.extraction.cost_s, 0);
  EXPECT_LE(report.extraction.bound_s, report.extraction.cost_s);
}

// What is known is not measured again, and gives the same program.
TEST(KernelChoice, IsRemembered) {
  OptimizeOptions options = by_kernels();
  options.cost_db = testing::TempDir() + "/kernel_choice_is_remembered.sqlite";
  std::filesystem::remove(options.cost_db);
  const auto graph_and_database = [&] {
    const auto result = optimize(small_network(), options);
    EXPECT_TRUE(result.ok()) << result.status().message();
    const auto database = cost::open_database_to_read(options.cost_db);
    return std::pair(result.ok() ? ir::to_text(result->graph) : "",
                     *(*database)->content_hash(result.ok() ? result->report.machine : ""));
  };
  // Times change what is asked for next, and those that others disturbed are replaced: some runs
  // measure before one finds all that it needs.
  auto last = graph_and_database();
  bool is_known = false;
  for (int run = 0; run < 6 && !is_known; ++run) {
    const auto next = graph_and_database();
    is_known = next == last;
    last = next;
  }
  EXPECT_TRUE(is_known);
}

// The operators are those of the cheapest graph, whatever becomes of its kernels.
TEST(KernelChoice, OfOneGraphIsADivisionOfTheCheapest) {
  OptimizeOptions options = by_kernels();
  options.kernels_from = "graph";
  const auto result = optimize(small_network(), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->report.check.outputs.passed);
  std::map<std::string, int> operators;
  for (const OptimizeReport::Race::Entry& candidate : result->report.race.candidates) {
    operators[candidate.name] = candidate.operators;
    EXPECT_GT(candidate.predicted_s, 0);
  }
  ASSERT_TRUE(operators.contains("cheapest"));
  if (operators.contains("kernels")) {
    EXPECT_EQ(operators["kernels"], operators["cheapest"]);
  }
}

// Whoever divides the graph: what is reported is a time of its kernels.
TEST(KernelPredictions, AreMadeOfAllThatRaces) {
  for (const char* from : {"backend", "egraph"}) {
    OptimizeOptions options = by_kernels();
    options.kernels_from = from;
    const auto result = optimize(small_network(), options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const OptimizeReport& report = result->report;
    EXPECT_GT(report.predicted.kernels_before.seconds, 0) << from;
    EXPECT_GT(report.predicted.kernels_after.seconds, 0) << from;
    for (const OptimizeReport::Race::Entry& candidate : report.race.candidates)
      EXPECT_GT(candidate.kernels.seconds, 0) << from << " " << candidate.name;
  }
}

TEST(KernelPredictions, AreNotMadeWhereNothingIsMeasured) {
  OptimizeOptions options = by_kernels();
  options.kernels_from = "backend";
  options.profile_time = 0;
  const auto result = optimize(small_network(), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->report.predicted.kernels_before.seconds, 0);
  EXPECT_EQ(result->report.predicted.kernels_after.seconds, 0);
}

TEST(KernelChoice, WithoutMeasuringTakesEstimates) {
  OptimizeOptions options = by_kernels();
  options.cost = "roofline";
  options.no_measure = true;
  const auto first = optimize(small_network(), options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_TRUE(first->report.check.outputs.passed);
  const auto second = optimize(small_network(), options);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first->graph.size(), second->graph.size());
  EXPECT_EQ(first->report.extraction.cost_s, second->report.extraction.cost_s);
}

TEST(KernelChoice, TakesATransformerBlock) {
  const auto graph = zoo::find_model("bert-pet")->build({});
  ASSERT_TRUE(graph.ok());
  OptimizeOptions options = by_kernels();
  options.cost = "roofline";
  options.no_measure = true;
  options.limit_nodes = 3000;
  const auto result = optimize(*graph, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->report.check.outputs.passed);
}

TEST(KernelChoice, RefusesWhatItCannotBeCombinedWith) {
  const ir::Graph graph = small_network();
  OptimizeOptions options = by_kernels();
  options.limit_arena = 1 << 20;
  EXPECT_EQ(optimize(graph, options).status().code(), base::StatusCode::kUsage);
  options = by_kernels();
  options.extractor = "backtracking";
  EXPECT_EQ(optimize(graph, options).status().code(), base::StatusCode::kUsage);
  // It chooses the precision of kernels together with the graph.
  options = by_kernels();
  options.kernels_from = "graph";
  options.error_budget = 0.01;
  const auto refused = optimize(graph, options);
  EXPECT_EQ(refused.status().code(), base::StatusCode::kUsage);
  EXPECT_NE(refused.status().message().find("--kernels-from graph"), std::string::npos);
}

// The candidates by operators are an answer, too.
TEST(KernelChoice, EndsOnRequest) {
  class Stopping final : public base::ProgressSink {
   public:
    void begin_phase(std::string_view) override {}
    bool due() override { return true; }
    void report(const base::ProgressReport& report) override {
      if (report.phase == "kernels") base::request_stop(SIGINT);
    }
    void end_phase(std::string_view, double) override {}
  } stopping;
  const auto result = optimize(small_network(), by_kernels(), &stopping);
  base::request_stop(0);
  ASSERT_TRUE(result.ok()) << result.status().message();
}

}  // namespace
}  // namespace egret::driver

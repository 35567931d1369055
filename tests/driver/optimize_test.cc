// SPDX-License-Identifier: Apache-2.0
#include "driver/optimize.h"

#include <gtest/gtest.h>

#include "frontends/onnx.h"
#include "ir/graph/builder.h"
#include "zoo/zoo.h"

namespace egret::driver {
namespace {

OptimizeOptions quick() {
  OptimizeOptions options;
  options.cost = "roofline";
  options.cost_db = testing::TempDir() + "no_costs.sqlite";  // rates of this machine, were it there
  options.no_measure = true;
  return options;
}

TEST(QuickOptions, ShortenOnlyLimitsThatNobodySet) {
  const OptimizeOptions short_limits = driver::quick(OptimizeOptions());
  EXPECT_LT(short_limits.limit_time, 1);
  EXPECT_EQ(short_limits.limit_nodes, 10'000);
  OptimizeOptions own;
  own.limit_time = 60;
  own.limit_nodes = 500'000;
  own.extract_time = 9;
  const OptimizeOptions kept = driver::quick(own);
  EXPECT_EQ(kept.limit_time, 60);
  EXPECT_EQ(kept.limit_nodes, 500'000);
  EXPECT_EQ(kept.extract_time, 9);
  EXPECT_TRUE(kept.no_measure);
}

TEST(Optimize, FoldsBatchNormsAndChecksTheResult) {
  const auto graph = zoo::find_model("resnet18")->build({});
  ASSERT_TRUE(graph.ok());
  const auto result = optimize(*graph, quick());
  ASSERT_TRUE(result.ok()) << result.status().message();
  const OptimizeReport& r = result->report;
  EXPECT_TRUE(r.check.made && r.check.outputs.passed);
  EXPECT_EQ(r.operators.before.at("BatchNormalization"), 20);
  EXPECT_FALSE(r.operators.after.contains("BatchNormalization"));
  EXPECT_LT(operator_count(r.operators.after), operator_count(r.operators.before));
  EXPECT_LT(r.predicted.after_s, r.predicted.before_s);
  EXPECT_FALSE(r.rules.used.empty());
}

TEST(Optimize, IsDeterministic) {
  const auto graph = zoo::find_model("squeezenet1.1")->build({});
  ASSERT_TRUE(graph.ok());
  OptimizeOptions options = quick();
  options.no_check = true;
  const auto bytes = [&] {
    const auto result = optimize(*graph, options);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return frontends::export_onnx(result->graph, {}, {.manifest = result->report.manifest})->bytes;
  };
  EXPECT_EQ(bytes(), bytes());
}

// The estimate of times depends on the threads that a program will have; the search must not.
TEST(Optimize, IsTheSameWithAnyNumberOfThreads) {
  const auto graph = zoo::find_model("inception-v3")->build({});
  ASSERT_TRUE(graph.ok());
  OptimizeOptions options = quick();
  options.cost = "nodes";
  options.extractor = "tree-greedy";
  options.no_check = true;
  options.rules = "all";
  options.multi_iterations = 4;
  options.limit_iterations = 14;
  std::int64_t e_nodes = 0;
  const auto bytes = [&](std::int64_t threads) {
    options.threads = threads;
    const auto result = optimize(*graph, options);
    EXPECT_TRUE(result.ok()) << result.status().message();
    e_nodes = static_cast<std::int64_t>(result->report.growth.e_nodes);
    return frontends::export_onnx(result->graph, {}, {.manifest = result->report.manifest})->bytes;
  };
  const std::string alone = bytes(1);
  EXPECT_GT(e_nodes, 5000) << "too small for threads to be of use";
  for (const std::int64_t threads : {2, 8}) EXPECT_TRUE(bytes(threads) == alone) << threads;
}

TEST(Optimize, RacesAlternatives) {
  const auto graph = zoo::find_model("squeezenet1.1")->build({});
  ASSERT_TRUE(graph.ok());
  OptimizeOptions options = quick();
  options.no_measure = false;
  options.no_check = true;
  options.measure_time = 0.05;
  options.alternatives = 2;
  options.alternative_spread = 5;
  const auto result = optimize(*graph, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  int alternatives = 0;
  const auto& candidates = result->report.race.candidates;
  for (const OptimizeReport::Race::Entry& candidate : candidates) {
    alternatives += candidate.name.starts_with("alternative") ? 1 : 0;
    EXPECT_GE(candidate.predicted_s, candidates.front().predicted_s * (1 - 1e-9));
    EXPECT_GT(candidate.measured.median_s, 0);
  }
  EXPECT_GE(alternatives, 1);
}

// Optimizes a model without a limit of memory, and within a share of what it takes then; tells
// `expect` of the graph, the options, and both reports.
template <typename Expect>
void limit_memory(const char* model, double share, OptimizeOptions options, const Expect& expect) {
  const auto graph = zoo::find_model(model)->build({});
  ASSERT_TRUE(graph.ok());
  if (options.threads == 0) options.threads = 1;
  const auto free = optimize(*graph, options);
  ASSERT_TRUE(free.ok()) << free.status().message();
  options.limit_arena =
      static_cast<std::int64_t>(share * static_cast<double>(free->report.race.arena_after));
  const auto limited = optimize(*graph, options);
  ASSERT_TRUE(limited.ok()) << limited.status().message();
  const OptimizeReport& r = limited->report;
  EXPECT_TRUE(r.check.made && r.check.outputs.passed);
  EXPECT_LE(r.race.arena_after, options.limit_arena);
  expect(*graph, options, free->report, r);
}

// The fastest kernels of this model need scratch space, which others do without: the cheapest graph
// stays the cheapest. One thread's is too little to count where caches are large.
// The kernels of AVX-512 need scratch space that others do without.
TEST(Optimize, KeepsToALimitOfMemoryByOtherKernels) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "without AVX-512, no other kernels take less memory";
  const auto expect = [](const ir::Graph&, const OptimizeOptions&, const OptimizeReport& free,
                         const OptimizeReport& r) {
    EXPECT_EQ(r.extraction.cost_s, free.extraction.cost_s);
    EXPECT_EQ(r.extraction.status, free.extraction.status);
  };
  OptimizeOptions options = quick();
  options.threads = 4;
  limit_memory("resnet18", 0.8, options, expect);
}

// The cheapest graph of this model merges products of matrices, whose values then live together.
TEST(Optimize, KeepsToALimitOfMemoryByAnotherGraph) {
  const auto expect = [](const ir::Graph& graph, OptimizeOptions fitting,
                         const OptimizeReport& free, const OptimizeReport& r) {
    EXPECT_EQ(r.extraction.status, "feasible");
    EXPECT_GE(r.extraction.cost_s, free.extraction.cost_s);
    EXPECT_LE(r.extraction.bound_s, r.extraction.cost_s);
    fitting.limit_arena = free.race.arena_after;  // the cheapest fits
    const auto same = optimize(graph, fitting);
    EXPECT_EQ(same->report.extraction.cost_s, free.extraction.cost_s);
    EXPECT_EQ(same->report.extraction.status, free.extraction.status);
    fitting.limit_arena = 64;
    fitting.limit_time = 1;
    EXPECT_EQ(optimize(graph, fitting).status().code(), base::StatusCode::kUnsupported);
    fitting.extractor = "backtracking";
    EXPECT_EQ(optimize(graph, fitting).status().code(), base::StatusCode::kUsage);
  };
  OptimizeOptions options = quick();
  options.limit_time = 4;
  limit_memory("nasrnn", 0.85, options, expect);
}

bool computes(const ir::Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.kind == ir::NodeKind::kOperator && node.op->name() == name) return true;
  }
  return false;
}

TEST(Optimize, LeavesOutWhatIsForbidden) {
  const auto graph = zoo::find_model("resnet18")->build({});
  ASSERT_TRUE(graph.ok());
  OptimizeOptions options = quick();
  const auto free = optimize(*graph, options);
  ASSERT_TRUE(free.ok()) << free.status().message();
  ASSERT_TRUE(computes(free->graph, "fused_conv"));
  options.forbid = {"fused_conv"};
  const auto without = optimize(*graph, options);
  ASSERT_TRUE(without.ok()) << without.status().message();
  EXPECT_TRUE(without->report.check.outputs.passed);
  EXPECT_FALSE(computes(without->graph, "fused_conv"));
  EXPECT_EQ(without->report.manifest.at("egret.forbidden"), "fused_conv");
  EXPECT_GE(without->report.extraction.cost_s, free->report.extraction.cost_s);
}

TEST(Optimize, DoesNotGiveTheProgramBackThatHasWhatIsForbidden) {
  const auto graph = zoo::find_model("resnet18")->build({});
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(computes(*graph, "batch_norm"));
  OptimizeOptions options = quick();
  options.forbid = {"batch_norm"};
  options.no_measure = false;
  options.measure_time = 0.02;
  const auto result = optimize(*graph, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->report.check.outputs.passed);
  EXPECT_FALSE(computes(result->graph, "batch_norm"));
  EXPECT_NE(result->report.race.chosen, "original");
}

TEST(Optimize, SaysWhenNothingDoesWithoutWhatIsForbidden) {
  const auto graph = zoo::find_model("squeezenet1.1")->build({});
  ASSERT_TRUE(graph.ok());
  OptimizeOptions options = quick();
  options.forbid = {"conv", "fused_conv"};
  const base::Status nothing = optimize(*graph, options).status();
  EXPECT_EQ(nothing.code(), base::StatusCode::kUnsupported);
  EXPECT_NE(nothing.message().find("conv, fused_conv"), std::string::npos) << nothing.message();
  // ONNX's Conv computes no relu: a convolution that does is written with one behind it.
  options.forbid = {"relu"};
  EXPECT_EQ(optimize(*graph, options).status().code(), base::StatusCode::kUnsupported);
  options.forbid = {"oracle"};
  EXPECT_EQ(optimize(*graph, options).status().code(), base::StatusCode::kUsage);
  options.forbid = {"relu"};
  options.extractor = "backtracking";
  EXPECT_EQ(optimize(*graph, options).status().code(), base::StatusCode::kUsage);
}

// The search for a graph that fits forbids the same.
TEST(Optimize, LeavesOutWhatIsForbiddenWithinALimitOfMemory) {
  OptimizeOptions options = quick();
  options.limit_time = 4;
  options.forbid = {"fused_matmul"};
  const auto graph = zoo::find_model("nasrnn")->build({});
  ASSERT_TRUE(graph.ok());
  if (options.threads == 0) options.threads = 1;
  const auto free = optimize(*graph, options);
  ASSERT_TRUE(free.ok()) << free.status().message();
  options.limit_arena = free->report.race.arena_after * 17 / 20;
  const auto limited = optimize(*graph, options);
  ASSERT_TRUE(limited.ok()) << limited.status().message();
  EXPECT_LE(limited->report.race.arena_after, options.limit_arena);
  EXPECT_FALSE(computes(limited->graph, "fused_matmul"));
}

// A product of 4 TiB. What cannot be checked is not changed, unless that was asked for.
TEST(Optimize, EstimatesWhatIsTooLargeToMeasure) {
  constexpr std::int64_t kSize = 1 << 20;
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {kSize, 1}));
  const ir::Value y = b.input("y", ir::TensorType(ir::DType::kF32, {1, kSize}));
  const ir::Value product = b.add("relu", {b.add("relu", {b.add("matmul", {x, y})})});
  b.output("z", b.add("reduce_sum", {product}, {{"axes", ir::Integers{0, 1}}}));
  const ir::Graph graph = b.finish().value();
  OptimizeOptions options;
  options.cost_db = testing::TempDir() + "too_large.sqlite";
  for (const bool no_check : {false, true}) {
    options.no_check = no_check;
    const auto result = optimize(graph, options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const OptimizeReport& r = result->report;
    EXPECT_TRUE(r.out_of_memory);
    EXPECT_FALSE(r.race.measured || r.check.made);
    EXPECT_EQ(r.status, no_check ? "rewritten" : "unchanged");
    EXPECT_EQ(r.operators.after.at("Relu"), no_check ? 1 : 2);
    ASSERT_FALSE(r.extraction.notes.empty());
    EXPECT_TRUE(r.extraction.notes[0].starts_with("estimated, not measured: timing "));
  }
}

TEST(Optimize, UnknownNamesAreUsageErrors) {
  const auto graph = zoo::find_model("squeezenet1.1")->build({});
  OptimizeOptions options = quick();
  options.extractor = "oracle";
  EXPECT_EQ(optimize(*graph, options).status().code(), base::StatusCode::kUsage);
  options = quick();
  options.backend = "abacus";
  EXPECT_EQ(optimize(*graph, options).status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::driver

// SPDX-License-Identifier: Apache-2.0
#include "backends/timing/kernel_work.h"

#include <gtest/gtest.h>

#include "backends/timing/measure.h"
#include "ir/graph/builder.h"

namespace egret::backends {
namespace {

ir::TensorType f32(ir::Shape shape) { return {ir::DType::kF32, std::move(shape)}; }

// Compiled with profiling and run twice.
std::unique_ptr<ExecutablePlan> profiled(const ir::Graph& graph, bool fuse) {
  auto plan = find_backend("cpu")->compile(graph, {.threads = 1, .profile = true, .fuse = fuse});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  const auto inputs = random_inputs(**plan, base::Random(1));
  for (int run = 0; run < 2; ++run) EXPECT_TRUE((*plan)->run(inputs).ok());
  return *std::move(plan);
}

// relu(x + y) and its double.
ir::Graph chain() {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", f32({1000}));
  const ir::Value sum = b.add("relu", {b.add("add", {x, b.input("y", f32({1000}))})});
  b.output("twice", b.add("add", {sum, sum}));
  return *b.finish();
}

TEST(KernelWork, CountsWhatCrossesTheBorderOfAFusedKernel) {
  const ir::Graph graph = chain();
  const PlanReport report = profiled(graph, true)->report();
  ASSERT_EQ(report.kernels.size(), 1U);
  const auto works = work_of_kernels(graph, report);
  ASSERT_TRUE(works.ok()) << works.status().message();
  EXPECT_EQ(works->front().flops, 3000);
  EXPECT_EQ(works->front().bytes_read, 8000) << "x and y, not what lies between";
  EXPECT_EQ(works->front().bytes_written, 4000);
}

TEST(KernelWork, CountsEachOperatorByItselfWithoutFusion) {
  const ir::Graph graph = chain();
  const PlanReport report = profiled(graph, false)->report();
  ASSERT_EQ(report.kernels.size(), 3U);
  const auto works = work_of_kernels(graph, report);
  ASSERT_TRUE(works.ok()) << works.status().message();
  for (const ir::Work& work : *works) {
    EXPECT_EQ(work.flops, 1000);
    EXPECT_EQ(work.bytes_written, 4000);
  }
  EXPECT_EQ((*works)[0].bytes_read, 8000);
  EXPECT_EQ((*works)[1].bytes_read, 4000);
}

TEST(KernelWork, ReadsOfATensorOnlyWhatAnOperatorReads) {
  ir::GraphBuilder b;
  const ir::Value rows = b.input("rows", {ir::DType::kI64, {3}});
  b.output("y", b.add("gather", {b.input("x", f32({1000, 8})), rows}, {{"axis", std::int64_t{0}}}));
  const ir::Graph graph = *b.finish();
  const auto works = work_of_kernels(graph, profiled(graph, true)->report());
  ASSERT_TRUE(works.ok()) << works.status().message();
  ASSERT_EQ(works->size(), 1U);
  EXPECT_EQ(works->front().bytes_read, 3 * 8 * 4 + 3 * 8);
}

TEST(PlanReport, SaysWhenEachKernelOfTheLastRunBegan) {
  const PlanReport report = profiled(chain(), false)->report();
  double end = 0;
  for (const PlanReport::Kernel& kernel : report.kernels) {
    EXPECT_GE(kernel.last_start_s, end) << "one after the other";
    EXPECT_GT(kernel.last_s, 0);
    EXPECT_GT(kernel.seconds, 0);
    end = kernel.last_start_s + kernel.last_s;
  }
}

}  // namespace
}  // namespace egret::backends

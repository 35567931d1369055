// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/stop.h"
#include "base/timer.h"
#include "driver/models/training_inputs.h"
#include "driver/recompute/recomputed_plan.h"
#include "driver/recompute/storage_rates.h"
#include "extract/recompute/baselines.h"
#include "ir/autodiff/training_graph.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

const backends::Backend& cpu() { return *backends::find_backend("cpu"); }

// x [64, 32] through layers of a product and tanh, so that every value waits for its gradient.
ir::TrainingGraph deep_network(int layers) {
  ir::GraphBuilder b;
  base::Random random(7);
  ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {64, 32}));
  for (int k = 0; k < layers; ++k) {
    const auto weight = ir::Tensor::random(ir::TensorType(ir::DType::kF32, {32, 32}), random);
    x = b.add("tanh", {b.add("matmul", {x, b.constant(weight, "w" + std::to_string(k))})});
  }
  b.output("y", x);
  const auto model = b.finish();
  EXPECT_TRUE(model.ok());
  auto step = ir::training_graph(*model, {.loss = "mse"});
  EXPECT_TRUE(step.ok()) << step.status().message();
  return *std::move(step);
}

KernelTasks tasks_of(const ir::Graph& graph) {
  const auto division = cpu().divide(graph, {.threads = 1});
  EXPECT_TRUE(division.ok());
  auto tasks = kernel_tasks(graph, *division);
  EXPECT_TRUE(tasks.ok()) << tasks.status().message();
  return *std::move(tasks);
}

base::Result<std::unique_ptr<backends::ExecutablePlan>> compiled(
    const ScheduledGraph& scheduled, const std::string& folder = ::testing::TempDir()) {
  const backends::CompileOptions options{.threads = 1, .division = scheduled.division};
  if (scheduled.stored_values.empty()) return cpu().compile(scheduled.graph, options);
  return backends::storing_backend(cpu())->compile_storing(scheduled.graph, options,
                                                           {scheduled.stored_values, folder});
}

std::vector<ir::Tensor> run_order(const ir::TrainingGraph& step, const KernelTasks& tasks,
                                  std::span<const int> order, std::int64_t& arena) {
  const ScheduledGraph scheduled = scheduled_graph(step.graph, tasks, order);
  EXPECT_TRUE(scheduled.graph.check_invariants().ok());
  const auto plan = compiled(scheduled);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  arena = (*plan)->report().arena_bytes;
  const auto inputs = first_inputs(step);
  EXPECT_TRUE(inputs.ok());
  const auto outputs = (*plan)->run(*inputs);
  EXPECT_TRUE(outputs.ok());
  return *outputs;
}

TEST(Recompute, StepsWithRecomputationsAreEqualBitForBitAndTakeLessMemory) {
  const ir::TrainingGraph step = deep_network(12);
  const KernelTasks tasks = tasks_of(step.graph);
  const std::vector<int> all = extract::frugal_task_order(tasks.problem);
  std::int64_t kept_arena = 0;
  const std::vector<ir::Tensor> kept = run_order(step, tasks, all, kept_arena);
  const std::int64_t peak = extract::schedule_of(tasks.problem, all)->peak;
  for (const char* method : {"search", "dtr", "segments"}) {
    SCOPED_TRACE(method);
    const auto found =
        extract::recompute(tasks.problem, peak / 2, {.method = method, .seconds = 2});
    ASSERT_TRUE(found.ok());
    ASSERT_TRUE(found->schedule);
    EXPECT_GT(found->schedule->recomputations(tasks.problem), 3U);
    std::int64_t arena = 0;
    const std::vector<ir::Tensor> again = run_order(step, tasks, found->schedule->order(), arena);
    EXPECT_LT(arena, kept_arena * 4 / 5);
    ASSERT_EQ(again.size(), kept.size());
    for (std::size_t k = 0; k < kept.size(); ++k)
      EXPECT_EQ(again[k].content_hash(), kept[k].content_hash()) << k;
  }
}

TEST(Recompute, StepsWhoseValuesLeaveMemoryAreEqualBitForBit) {
  const ir::TrainingGraph step = deep_network(12);
  KernelTasks tasks = tasks_of(step.graph);
  const std::vector<int> all = extract::frugal_task_order(tasks.problem);
  std::int64_t kept_arena = 0;
  const std::vector<ir::Tensor> kept = run_order(step, tasks, all, kept_arena);
  const std::int64_t peak = extract::schedule_of(tasks.problem, all)->peak;
  // Copies that cost next to nothing; and copies that cost about as much as kernels.
  for (const double rate : {1e15, 4e9}) {
    SCOPED_TRACE(rate);
    price_copies({.bytes_per_second_out = rate, .bytes_per_second_back = rate}, tasks.problem);
    const auto found = extract::recompute(tasks.problem, peak / 3, {.seconds = 2});
    ASSERT_TRUE(found.ok());
    ASSERT_TRUE(found->schedule);
    EXPECT_GT(found->schedule->copies(), 2U);
    if (rate > 1e12) {
      EXPECT_EQ(found->schedule->recomputations(tasks.problem), 0U);
    }
    std::int64_t arena = 0;
    const std::vector<ir::Tensor> back = run_order(step, tasks, found->schedule->order(), arena);
    EXPECT_LT(arena, kept_arena * 3 / 4);
    ASSERT_EQ(back.size(), kept.size());
    for (std::size_t k = 0; k < kept.size(); ++k)
      EXPECT_EQ(back[k].content_hash(), kept[k].content_hash()) << k;
  }
}

// A value that comes back twice, a view of it, and a folder that takes none.
TEST(Recompute, ValuesComeBackAsOftenAsTheyAreRead) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {40, 60}));
  const ir::Value y = b.add("exp", {x});
  const ir::Value view = b.add("reshape", {y}, {{"shape", ir::Integers{60, 40}}});
  const ir::Value z = b.add("tanh", {x});
  const ir::Value product = b.add("matmul", {z, view});
  const ir::Value again = b.add("matmul", {product, y});
  b.output("again", again);
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const backends::Division division = {{y.id}, {view.id}, {z.id}, {product.id}, {again.id}};
  auto tasks = kernel_tasks(*graph, division);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  price_copies({.bytes_per_second_out = 1e9, .bytes_per_second_back = 1e9}, tasks->problem);
  const std::vector<int> order = {0, 1, extract::back(0), 2, extract::back(0), 3};
  ASSERT_TRUE(extract::schedule_of(tasks->problem, order).ok());
  const ScheduledGraph scheduled = scheduled_graph(*graph, *tasks, order);
  EXPECT_TRUE(scheduled.graph.check_invariants().ok());
  ASSERT_EQ(scheduled.stored_values.size(), 2U);
  EXPECT_EQ(scheduled.stored_values[0].from, scheduled.stored_values[1].from);
  const auto plan = compiled(scheduled);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto expected = cpu().compile(*graph, {.threads = 1, .division = division});
  ASSERT_TRUE(expected.ok());
  base::Random random(2);
  const std::vector<ir::Tensor> inputs{
      ir::Tensor::random(ir::TensorType(ir::DType::kF32, {40, 60}), random)};
  for (int run = 0; run < 2; ++run)
    EXPECT_EQ((*(*plan)->run(inputs))[0].content_hash(),
              (*(*expected)->run(inputs))[0].content_hash());
  int stores = 0, brought = 0;
  for (const auto& kernel : (*plan)->report().kernels) {
    stores += kernel.name == "store" ? 1 : 0;
    brought += kernel.name == "bring back" ? 1 : 0;
  }
  EXPECT_EQ(stores, 1);
  EXPECT_EQ(brought, 2);
  const auto nowhere = compiled(scheduled, ::testing::TempDir() + "/no/such/folder");
  EXPECT_EQ(nowhere.status().code(), base::StatusCode::kUnavailable);
  EXPECT_NE(nowhere.status().message().find("no/such/folder"), std::string::npos);
  // A file that may not grow stands for a full disk.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit few{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
  const auto full = compiled(scheduled);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(full.status().code(), base::StatusCode::kLimit);
  EXPECT_NE(full.status().message().find("bytes are needed"), std::string::npos)
      << full.status().message();
}

TEST(Recompute, PlansKeepToTheLimit) {
  const ir::TrainingGraph step = deep_network(12);
  const auto inputs = first_inputs(step);
  const auto free = cpu().compile(step.graph, {.threads = 1});
  ASSERT_TRUE(inputs.ok() && free.ok());
  const auto expected = (*free)->run(*inputs);
  const std::int64_t limit = (*free)->report().arena_bytes / 2;
  for (const char* prices : {"measured", "roofline"}) {
    const auto found = compile_recomputed(cpu(), step.graph, {.threads = 1, .limit_arena = limit},
                                          {.seconds = 2, .prices = prices}, *inputs);
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_TRUE(found->found());
    EXPECT_LE(found->plan->report().arena_bytes, limit);
    EXPECT_EQ(found->plan->report().arena_bytes, found->arena);
    EXPECT_GT(found->answer.schedule->cost, found->least_cost);
    // Within the same memory as schedules count it, nothing costs less than the bound.
    if (found->answer.schedule->peak <= limit) {
      EXPECT_GE(found->answer.schedule->cost, found->bound * (1 - 1e-9));
    }
    EXPECT_LE(found->proven_bound, found->bound);
    const auto actual = found->plan->run(*inputs);
    ASSERT_TRUE(expected.ok() && actual.ok());
    EXPECT_NEAR((*actual)[0].f64_at(0), (*expected)[0].f64_at(0),
                1e-5 * std::abs((*expected)[0].f64_at(0)));
  }
  // A request to stop ends it without a plan, and without a run of the step.
  base::request_stop(SIGTERM);
  const base::Stopwatch watch;
  const auto stopped = compile_recomputed(cpu(), step.graph, {.threads = 1, .limit_arena = limit},
                                          {.seconds = 60}, *inputs);
  base::request_stop(0);
  ASSERT_TRUE(stopped.ok());
  EXPECT_FALSE(stopped->found());
  EXPECT_LT(watch.seconds(), 10);
  const auto none = compile_recomputed(cpu(), step.graph, {.threads = 1, .limit_arena = 100},
                                       {.prices = "roofline"}, *inputs);
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->found());
  EXPECT_TRUE(none->answer.impossible);
}

// Reshapes rename what another kernel stores; each copy of the value has a name of its own.
TEST(Recompute, ViewsFollowTheLatestCopy) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {4, 6}));
  const ir::Value y = b.add("exp", {x});
  const ir::Value view = b.add("reshape", {y}, {{"shape", ir::Integers{6, 4}}});
  const ir::Value z = b.add("transpose", {view}, {{"perm", ir::Integers{1, 0}}});
  const ir::Value sum = b.add("matmul", {view, z});
  b.output("sum", sum);
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const backends::Division division = {{y.id}, {view.id}, {z.id}, {sum.id}};
  const auto tasks = kernel_tasks(*graph, division);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->problem.size(), 3U);
  EXPECT_EQ(tasks->problem.tasks[1].inputs, std::vector<int>{0});
  EXPECT_EQ(tasks->problem.tasks[2].inputs, (std::vector<int>{0, 1}));
  EXPECT_EQ(tasks->problem.tasks[0].bytes, 96);
  EXPECT_EQ(tasks->problem.tasks[2].bytes, 0);  // it leaves the graph
  const ScheduledGraph scheduled = scheduled_graph(*graph, *tasks, std::vector<int>{0, 1, 0, 2});
  EXPECT_TRUE(scheduled.graph.check_invariants().ok());
  EXPECT_EQ(scheduled.tasks, (std::vector<int>{0, -1, 1, 0, -1, 2}));
  EXPECT_EQ(scheduled.graph.operator_count(), 6U);
}

}  // namespace
}  // namespace egret::driver

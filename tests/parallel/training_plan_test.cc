// SPDX-License-Identifier: Apache-2.0
// Plans of training steps: where gradients are summed, and how parameters and state are kept.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/stop.h"
#include "base/timer.h"
#include "parallel/plan/plan_file.h"
#include "tests/parallel/model.h"

namespace egret::parallel {
namespace {

using ::testing::HasSubstr;

ir::TrainingGraph step_of(const ir::Graph& model, const std::string& optimizer = "sgd") {
  return ir::training_graph(model, {.loss = "mse", .optimizer = optimizer}).value();
}

base::Result<ParallelPlan> training_plan(const ir::TrainingGraph& step, std::string_view mesh,
                                         const std::string& strategy = "any") {
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  options.strategy = strategy;
  return make_plan(task_of(step), machine_of(mesh), options);
}

std::int64_t sent(const ParallelPlan& plan, std::string_view collective) {
  double bytes = 0;
  for (const Communication& one : plan.communication) {
    if (one.collective == collective) bytes += one.bytes;
  }
  return static_cast<std::int64_t>(bytes);
}

constexpr std::int64_t kWidth = 32;
constexpr std::int64_t kHidden = 64;
constexpr std::int64_t kParameterBytes = (2 * kWidth * kHidden + kHidden) * 4;

// Many rows and small weights: the batch is worth cutting, gradients are worth summing.
TEST(TrainingPlan, DataParallelismSumsGradients) {
  for (const std::int64_t width : {16, 64}) {
    const ir::TrainingGraph step = step_of(mlp(4096, width, width));
    const std::int64_t bytes = (2 * width * width + width + 1) * 4;  // the loss's too
    for (const std::int64_t p : {2, 4, 8}) {
      const auto plan = training_plan(step, "x=" + std::to_string(p), "data");
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      for (const char* input : {"x", "labels"}) EXPECT_EQ(placement_of(*plan, input), "x:S(0)");
      for (const char* weight : {"w1", "b1", "w2"}) EXPECT_EQ(placement_of(*plan, weight), "x:R");
      // Of each gradient 2 (p-1)/p of its bytes. Large ones are scaled in blocks on the way.
      const std::int64_t all = 2 * (p - 1) * bytes / p;
      if (width == 16) {
        EXPECT_EQ(communication(*plan), "all_reduce x 4x " + std::to_string(all) + "\n");
      } else {
        EXPECT_EQ(sent(*plan, "reduce_scatter"), sent(*plan, "all_gather"));
        EXPECT_EQ(sent(*plan, "all_reduce") + 2 * sent(*plan, "all_gather"), all);
      }
    }
  }
}

TEST(TrainingPlan, ZeroScattersSumsAndGathersParameters) {
  const ir::TrainingGraph step = step_of(mlp(4096, kWidth, kHidden), "adam");
  for (const std::int64_t p : {2, 4, 8}) {
    const std::string mesh = "x=" + std::to_string(p);
    const std::int64_t once = (p - 1) * kParameterBytes / p;
    for (const auto& [strategy, weight] :
         {std::pair("zero-1", "x:R"), std::pair("zero-3", "x:S(0)")}) {
      const auto plan = training_plan(step, mesh, strategy);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_EQ(placement_of(*plan, "w1"), weight) << strategy;
      EXPECT_EQ(placement_of(*plan, "w1.m"), "x:S(0)") << strategy;
      EXPECT_EQ(sent(*plan, "reduce_scatter"), once) << strategy;
      EXPECT_EQ(sent(*plan, "all_gather"), once) << strategy;
      EXPECT_EQ(sent(*plan, "all_reduce"), 2 * (p - 1) * 4 / p) << strategy;
      EXPECT_LE(plan->time_s, plan->baselines.at("data"));
      EXPECT_DOUBLE_EQ(plan->bound_s, plan->time_s);
    }
  }
}

// A step of the optimizer is work too: on each device for its part where there is enough of it.
TEST(TrainingPlan, KeepsTheOptimizerInBlocksWhereThatPays) {
  const ir::TrainingGraph large = step_of(mlp(4096, kWidth, kHidden), "adam");
  const auto plan = training_plan(large, "x=4");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(placement_of(*plan, "w1.m").substr(0, 4), "x:S(");
  EXPECT_LT(plan->time_s, plan->baselines.at("data"));
  for (const auto& [name, seconds] : plan->baselines)
    EXPECT_LE(plan->time_s, seconds * 1.0000001) << name;
  // A few elements are cheaper to update everywhere than to gather.
  const auto small = training_plan(step_of(mlp(4096, 8, 8)), "x=4");
  ASSERT_TRUE(small.ok()) << small.status().message();
  EXPECT_EQ(placement_of(*small, "x"), "x:S(0)");
  EXPECT_EQ(placement_of(*small, "w1"), "x:R");
  EXPECT_EQ(sent(*small, "reduce_scatter"), 0);
}

TEST(TrainingPlan, WeightsWorthCuttingAreCutWithTheirGradientsAndState) {
  const auto plan = training_plan(step_of(mlp(8, 512, 2048), "momentum"), "x=4");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(placement_of(*plan, "w1"), "x:S(1)");
  EXPECT_EQ(placement_of(*plan, "w1.momentum"), "x:S(1)");
  EXPECT_EQ(placement_of(*plan, "w2"), "x:S(0)");
  EXPECT_EQ(placement_of(*plan, "w2.momentum"), "x:S(0)");
  EXPECT_LE(sent(*plan, "all_gather") + sent(*plan, "reduce_scatter"), 2 * 3 * 8 * 512 * 4 / 4);
}

TEST(TrainingPlan, OfTwoAxesIsCheckedOnAllRanks) {
  const auto plan = training_plan(step_of(mlp(64, 16, 32), "adam"), "x=2,y=2");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  for (const auto& [name, seconds] : plan->baselines)
    EXPECT_LE(plan->time_s, seconds * 1.0000001) << name;
}

// The gradient of a table begins with zeros, which every device can make.
TEST(TrainingPlan, NothingIsSentThatFollowsFromConstantsAlone) {
  Model m;
  const ir::Value i = m.input("i", {240}, ir::DType::kI64);
  const ir::Value rows = m("gather", {m.weight("table", {1536, 64}), i});
  const ir::TrainingGraph step = step_of(m.finish(m("matmul", {rows, m.weight("w", {64, 2})})));
  PlanTask task = task_of(step);
  task.inputs.front() = ir::Tensor::filled(task.inputs.front().type(), 5);  // a row of the table
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  const auto plan = make_plan(task, machine_of("x=3"), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  std::vector<bool> constant;
  for (const PlacedNode& node : plan->program.nodes) {
    constant.push_back(
        node.kind != PlacedNode::Kind::kInput &&
        std::ranges::all_of(node.inputs, [&](std::size_t input) { return constant[input]; }));
    EXPECT_FALSE(constant.back() && node.kind == PlacedNode::Kind::kCollective) << node.name;
  }
}

TEST(TrainingPlan, StrategiesOfTrainingAreForTraining) {
  ParallelPlanOptions options;
  options.strategy = "zero-1";
  const auto plan = plan_of(mlp(8, 16, 16), machine_of("x=2"), options);
  EXPECT_EQ(plan.status().code(), base::StatusCode::kUsage);
  EXPECT_THAT(plan.status().message(), HasSubstr("zero-1 needs --train"));
}

// Hosts hold copies; within a host parameters and state are in blocks, and rows are cut by all.
TEST(TrainingPlan, HybridZeroDividesAlongTheLastAxis) {
  const ir::TrainingGraph step = step_of(mlp(4096, kWidth, kHidden), "momentum");
  const auto plan = training_plan(step, "hosts=2,cores=2", "hybrid-zero");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->check, PlanCheck::kPassed);
  EXPECT_EQ(placement_of(*plan, "x"), "hosts:S(0),cores:S(0)");
  for (const char* name : {"w1", "b1", "w2", "w1.momentum", "b1.momentum", "w2.momentum"})
    EXPECT_EQ(placement_of(*plan, name), "hosts:R,cores:S(0)") << name;
  EXPECT_FALSE(plan->baselines.contains("hybrid-zero"));
}

// Hosts compute different rows, and sum the gradients of their parts of the matrices; within a host
// the matrices are cut by columns and rows, and the sums of rows are added up.
TEST(TrainingPlan, DataTensorDividesRowsByHostsAndMatricesByTheLastAxis) {
  const ir::TrainingGraph step = step_of(mlp(64, kWidth, kHidden), "momentum");
  const auto plan = training_plan(step, "hosts=2,cores=2", "data-tensor");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->check, PlanCheck::kPassed);
  EXPECT_EQ(placement_of(*plan, "x"), "hosts:S(0),cores:R");
  for (const char* name : {"w1", "w1.momentum"})
    EXPECT_EQ(placement_of(*plan, name), "hosts:R,cores:S(1)") << name;
  for (const char* name : {"w2", "w2.momentum"})
    EXPECT_EQ(placement_of(*plan, name), "hosts:R,cores:S(0)") << name;
  EXPECT_FALSE(plan->baselines.contains("data-tensor"));
}

// With one axis there are no other rows.
TEST(TrainingPlan, DataTensorOfOneAxisIsTensor) {
  const ir::TrainingGraph step = step_of(mlp(64, kWidth, kHidden), "sgd");
  const auto plan = training_plan(step, "x=2", "data-tensor");
  const auto tensor = training_plan(step, "x=2", "tensor");
  ASSERT_TRUE(plan.ok() && tensor.ok());
  EXPECT_EQ(plan->time_s, tensor->time_s);
  EXPECT_EQ(placement_of(*plan, "x"), "x:R");
}

// Stacks of matrices are cut, and what they read and make is exchanged.
TEST(TrainingPlan, ExpertParallelismDividesStacksOfMatrices) {
  Model m;
  const ir::Value x = m.input("x", {8, 4, 16});
  const ir::Value own = m("transpose", {x}, {{"perm", ir::Integers{1, 0, 2}}});
  const ir::Value made = m("relu", {m("matmul", {own, m.weight("up", {4, 16, 64})})});
  const ir::Value back = m("matmul", {made, m.weight("down", {4, 64, 16})});
  const ir::Value y = m("transpose", {back}, {{"perm", ir::Integers{1, 0, 2}}});
  const ir::TrainingGraph step = step_of(m.finish(m("matmul", {y, m.weight("head", {16, 16})})));
  const auto plan = training_plan(step, "x=4", "expert");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->check, PlanCheck::kPassed);
  for (const char* name : {"x", "up", "down"}) EXPECT_EQ(placement_of(*plan, name), "x:S(0)");
  EXPECT_EQ(placement_of(*plan, "head"), "x:R");
  EXPECT_GT(sent(*plan, "all_to_all"), 0);
}

// Devices hold the logits of their words. Of each row they send the largest logit, the sum of
// exponentials and the logit of the class, as one sum over all rows; nothing of the size of words.
TEST(TrainingPlan, LossOverACutVocabularySendsNumbersOfRows) {
  constexpr std::int64_t kRows = 7, kWords = 8192;
  Model m;
  const ir::Value x = m.input("x", {kRows, kWidth});
  const ir::TrainingGraph step =
      ir::training_graph(m.finish(m("matmul", {x, m.weight("words", {kWidth, kWords})})),
                         {.loss = "cross_entropy", .optimizer = "sgd"})
          .value();
  PlanTask task = task_of(step);
  for (std::int64_t i = 0; i < kRows; ++i) task.inputs[1].set_i64(i, 1000 * i + 7);
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  for (const std::int64_t p : {2, 4, 8}) {
    Cluster machine = machine_of("x=" + std::to_string(p));
    for (Link& link : machine.links) link.bytes_per_second = 2e8;
    const auto plan = make_plan(task, machine, options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->check, PlanCheck::kPassed);
    EXPECT_EQ(placement_of(*plan, "words"), "x:S(1)");
    double bytes = 0;
    for (const Communication& one : plan->communication) bytes += one.bytes;
    const auto all_reduce = [&](std::int64_t numbers) { return 2.0 * (p - 1) / p * 4 * numbers; };
    EXPECT_LE(bytes, all_reduce(3 * kRows + 1)) << communication(*plan);
    EXPECT_GE(bytes, all_reduce(2 * kRows)) << communication(*plan);
    for (const auto& [name, seconds] : plan->baselines)
      EXPECT_LE(plan->time_s, seconds * 1.0000001) << name;
  }
}

ir::Graph deep_mlp(int layers, std::int64_t batch, std::int64_t width) {
  Model m;
  ir::Value x = m.input("x", {batch, width});
  for (int i = 0; i < layers; ++i) {
    const std::string name = "w" + std::to_string(i);
    x = m("relu", {m("matmul", {x, m.weight(name.c_str(), {width, width})})});
  }
  return m.finish(x);
}

// With room every parameter is gathered once for forward and backward. With less it is gathered
// again (ZeRO-3), which sends half as much more.
TEST(TrainingPlan, GathersAgainWhereMemoryIsShort) {
  constexpr std::int64_t kBatch = 512;
  constexpr std::int64_t kSize = 128;
  constexpr std::int64_t kWhole = kSize * kSize * 4;
  const ir::TrainingGraph step = step_of(deep_mlp(4, kBatch, kSize), "adam");
  const PlanTask task = task_of(step);
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  const auto roomy = make_plan(task, machine_of("x=4"), options);
  ASSERT_TRUE(roomy.ok()) << roomy.status().message();
  const auto gathers = [](const ParallelPlan& plan) {
    return std::ranges::count_if(plan.program.nodes, [](const PlacedNode& node) {
      return node.kind == PlacedNode::Kind::kCollective && name_of(node.collective) == "all_gather";
    });
  };
  EXPECT_EQ(gathers(*roomy), 4);
  options.recompute_by = "none";
  options.device_memory = static_cast<std::int64_t>(roomy->memory_bytes) - 2 * kWhole;
  const auto tight = make_plan(task, machine_of("x=4"), options);
  ASSERT_TRUE(tight.ok()) << tight.status().message();
  EXPECT_LE(tight->memory_bytes, static_cast<double>(options.device_memory));
  EXPECT_GE(gathers(*tight), 6);
  EXPECT_EQ(placement_of(*tight, "w1").substr(0, 4), "x:S(");
  EXPECT_EQ(placement_of(*tight, "w1.m"), placement_of(*tight, "w1"));
  EXPECT_EQ(sent(*tight, "all_gather"), gathers(*tight) * kWhole * 3 / 4);
  EXPECT_EQ(sent(*tight, "reduce_scatter"), 4 * kWhole * 3 / 4);
  EXPECT_GT(tight->time_s, roomy->time_s);
  EXPECT_DOUBLE_EQ(tight->bound_s, roomy->bound_s);
  // What no plan keeps to: the one that takes least.
  options.device_memory = 4 * kWhole;
  const auto least = make_plan(task, machine_of("x=4"), options);
  ASSERT_TRUE(least.ok()) << least.status().message();
  EXPECT_GT(least->memory_bytes, least->limit_bytes);
  EXPECT_LT(least->memory_bytes, roomy->memory_bytes);
}

// Blocks of a scalar that is broadcast are equal under S(0), S(1) and under S(1), S(0). The plan
// keeps them apart, so that each operator has a law.
TEST(TrainingPlan, KeepsPlacementsOfEqualBlocksApart) {
  const ir::TrainingGraph step = step_of(deep_mlp(2, 512, 128), "adam");
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  const auto plan = make_plan(task_of(step), machine_of("x=2,y=2"), options);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->check, PlanCheck::kPassed);
}

// A stop at any moment leaves a plan or the reason why there is none, with and without a limit of
// memory: laws that were not derived in time are no faults of the plan.
TEST(TrainingPlan, EndsWhenItIsAskedTo) {
  const ir::TrainingGraph step = step_of(deep_mlp(2, 512, 128), "adam");
  const PlanTask task = task_of(step);
  std::size_t plans = 0, none = 0;
  std::int64_t memory = 0;  // then what the plan without a limit takes
  for (const bool limited : {false, true}) {
    ParallelPlanOptions options;
    options.sharded_inputs = true;
    options.device_memory = memory;
    const base::Stopwatch whole;
    const auto first = make_plan(task, machine_of("x=4"), options);
    ASSERT_TRUE(first.ok()) << first.status().message();
    if (!limited) memory = static_cast<std::int64_t>(first->memory_bytes) + 1;
    const double seconds = whole.seconds();
    base::Random random(5);
    for (int trial = 0; trial < 5; ++trial) {
      // At once, and at some moment.
      const auto after = std::chrono::duration<double>(trial == 0 ? 0 : seconds * random.unit());
      base::Stopwatch since;
      std::thread stopper([&] {
        std::this_thread::sleep_for(after);
        since.restart();
        base::request_stop(SIGTERM);
      });
      const auto plan = make_plan(task, machine_of("x=4"), options);
      stopper.join();
      const double late = since.seconds();
      base::request_stop(0);
      EXPECT_LT(late, 5);
      if (!plan.ok()) {
        EXPECT_EQ(plan.status().code(), base::StatusCode::kLimit) << plan.status().message();
        ++none;
        continue;
      }
      ++plans;
      EXPECT_FALSE(plan->program.nodes.empty());
      if (plan->check == PlanCheck::kPassed) continue;
      // What was not compared in time is right all the same.
      EXPECT_EQ(plan->check, PlanCheck::kInterrupted);
      EXPECT_TRUE(check_against(plan->program, step.graph, task.inputs).ok());
    }
  }
  EXPECT_GT(plans, 0U);
  EXPECT_GT(none, 0U);
}

TEST(TrainingPlan, ComparesForAsLongAsItMay) {
  const ir::TrainingGraph step = step_of(mlp(4096, 64, 64));
  const PlanTask task = task_of(step);
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  for (const auto& [seconds, expected] : {std::pair(60.0, PlanCheck::kPassed),
                                          {1e-9, PlanCheck::kOutOfTime},
                                          {0.0, PlanCheck::kSkipped}}) {
    options.limit_check = seconds;
    std::size_t found = 0;
    const auto plan =
        make_plan(task, machine_of("x=2"), options, nullptr, [&](const ParallelPlan& early) {
          ++found;
          EXPECT_EQ(early.check, PlanCheck::kSkipped);
          EXPECT_GT(early.time_s, 0);
        });
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->check, expected);
    EXPECT_EQ(found, 1U);
  }
}

// A parameter that leaves in another placement than it came in cannot go on.
TEST(WrongPlans, WithCarriedValuesThatMoveAreRejected) {
  const auto plan = training_plan(step_of(mlp(4096, kWidth, kHidden)), "x=2", "data");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  PlacedGraph program = plan->program;
  EXPECT_TRUE(check(program).ok());
  for (const auto& [node, output] : program.carried) {
    const std::string& name = program.nodes[node].name;
    EXPECT_EQ(program.outputs[output].name, name + ".next");
  }
  const auto [node, output] = program.carried.front();
  PlacedNode gradient = program.nodes[program.outputs[output].node];
  gradient.kind = PlacedNode::Kind::kCollective;
  gradient.inputs = {program.outputs[output].node};
  gradient.collective = {0, AxisPlacement::copy(), AxisPlacement::split(0)};
  gradient.placement = Placement(1).with(0, AxisPlacement::split(0));
  gradient.type = local_type(gradient.whole, gradient.placement, program.mesh).value();
  program.nodes.push_back(gradient);
  program.outputs[output].node = program.nodes.size() - 1;
  EXPECT_EQ(check(program).message(),
            "carried output w1.next: it leaves a step as x:S(0) and enters the next step as x:R");
}

}  // namespace
}  // namespace egret::parallel

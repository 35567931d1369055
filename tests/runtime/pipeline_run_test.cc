// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/pipeline_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <thread>

#include "backends/named_backend.h"
#include "base/stop.h"
#include "ir/evaluate/input_draws.h"
#include "tests/parallel/pipeline_models.h"
#include "tests/runtime/pipeline_training.h"

namespace egret::runtime {
namespace {

using namespace parallel;
using ::testing::HasSubstr;

const PipelineShape kShapes[] = {
    {.kind = PipelineKind::kGpipe, .stages = 2, .micro_batches = 4},
    {.kind = PipelineKind::k1F1B, .stages = 3, .micro_batches = 4},
    {.kind = PipelineKind::k1F1B, .stages = 4, .stages_per_rank = 2, .micro_batches = 4},
    {.kind = PipelineKind::kZbH1, .stages = 3, .micro_batches = 4},
    {.kind = PipelineKind::kDualPipe, .stages = 2, .micro_batches = 4},
    {.kind = PipelineKind::kZbH1, .stages = 2, .micro_batches = 4, .replicas = 2},
    {.kind = PipelineKind::k1F1B,
     .stages = 2,
     .stages_per_rank = 2,
     .micro_batches = 2,
     .replicas = 4},
    {.kind = PipelineKind::k1F1B, .stages = 1, .micro_batches = 8},
};

TEST(PipelineRuns, TrainAsOneProcessDoes) {
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    const ir::TrainingOptions training{.loss = "mse", .optimizer = optimizer};
    const ir::Graph model = layers(8, 12, 5);
    const Trained expected = expected_of(model, training);
    ASSERT_NE(expected.losses.front(), expected.losses.back());
    for (const PipelineShape& shape : kShapes) {
      SCOPED_TRACE(std::string(optimizer) + ", schedule " +
                   std::to_string(static_cast<int>(shape.kind)));
      const auto found = trained_on(model, training, shape);
      ASSERT_TRUE(found.ok()) << found.status().message();
      expect_near(*found, expected);
    }
  }
}

// Shared weights, values that pass through stages, integer inputs, labels that are classes.
TEST(PipelineRuns, SumTheGradientsOfSharedWeights) {
  const ir::TrainingOptions training{.loss = "cross_entropy", .optimizer = "adam"};
  const ir::Graph model = tied_model(8);
  const Trained expected = expected_of(model, training);
  for (const PipelineShape& shape : kShapes) {
    for (const bool overlap : {true, false}) {
      const auto found = trained_on(model, training, shape, overlap);
      ASSERT_TRUE(found.ok()) << found.status().message();
      expect_near(*found, expected);
    }
  }
}

// The output that the loss does not read has parameters of its own, which come first.
ir::Graph model_with_two_outputs() {
  ir::GraphBuilder b;
  base::Random random(3);
  const auto product = [&](ir::Value value, const char* name, std::int64_t width) {
    return b.add(
        "matmul",
        {value, b.constant(ir::Tensor::random({ir::DType::kF32, {12, width}}, random), name)});
  };
  const ir::Value x = b.input("x", {ir::DType::kF32, {8, 12}});
  b.output("other", product(x, "other", 3));
  const ir::Value first = b.add("tanh", {product(x, "w0", 12)});
  const ir::Value second = b.add("tanh", {product(first, "w1", 12)});
  b.output("y", product(second, "w2", 12));
  return b.finish().value();
}

TEST(PipelineRuns, TrainModelsWithSeveralOutputs) {
  const ir::TrainingOptions training{
      .loss = "mse", .optimizer = "momentum", .model_output = "y", .learning_rate = 0.1};
  const ir::Graph model = model_with_two_outputs();
  const ir::TrainingGraph whole = ir::training_graph(model, training).value();
  const Trained unpipelined = expected_of(model, training);
  ASSERT_EQ(whole.parameters.size(), 4U);
  Trained expected{.losses = unpipelined.losses, .variables = {}};
  for (std::size_t i = 0; i < unpipelined.variables.size(); ++i) {
    const std::string& name = i < whole.parameters.size()
                                  ? whole.parameters[i]
                                  : whole.state[i - whole.parameters.size()];
    if (!name.starts_with("other")) expected.variables.push_back(unpipelined.variables[i]);
  }
  ASSERT_EQ(expected.variables.size(), 6U);
  const auto found = trained_on(model, training, {.stages = 2, .micro_batches = 2});
  ASSERT_TRUE(found.ok()) << found.status().message();
  expect_near(*found, expected);
}

TEST(PipelineRuns, RefuseInputsOfAnotherStep) {
  const ir::TrainingOptions training{.loss = "mse", .optimizer = "momentum", .model_output = "y"};
  const ir::Graph model = model_with_two_outputs();
  auto layout = pipeline_layout(model, training, {.stages = 2, .micro_batches = 2}, {});
  const Ranks ranks = Ranks::join({}).value();
  const auto run = PipelineRun::start(std::move(*layout), training, ranks, {}).value();
  const auto whole = run->begin(inputs_of(ir::training_graph(model, training).value()));
  EXPECT_EQ(whole.code(), base::StatusCode::kBadInput);
  EXPECT_THAT(whole.message(), HasSubstr("takes 8 inputs, not 10"));
  const ir::TrainingGraph step =
      ir::training_graph(model_of_loss(model, training).value(), training).value();
  std::vector<ir::Tensor> inputs = inputs_of(step);
  inputs.back() = ir::Tensor(ir::TensorType(ir::DType::kF32, {12, 3}));
  const auto other = run->begin(inputs);
  EXPECT_EQ(other.code(), base::StatusCode::kBadInput);
  EXPECT_THAT(other.message(), HasSubstr("is f32[12,3], not f32[12,12]"));
}

// GPipe and 1F1B differ in the order of passes only, and each sum has one order.
TEST(PipelineRuns, HaveEqualBits) {
  const ir::TrainingOptions training{.loss = "mse", .optimizer = "momentum"};
  const ir::Graph model = layers(8, 12, 5);
  const auto run = [&](PipelineKind kind, bool overlap) {
    return trained_on(model, training,
                      {.kind = kind, .stages = 2, .micro_batches = 2, .replicas = 2}, overlap)
        .value();
  };
  const Trained first = run(PipelineKind::k1F1B, true);
  EXPECT_TRUE(equal_bits(first, run(PipelineKind::k1F1B, true)));
  EXPECT_TRUE(equal_bits(first, run(PipelineKind::kGpipe, true)));
  EXPECT_TRUE(equal_bits(first, run(PipelineKind::k1F1B, false)));
}

// Ranks that wait do not give up, so the step and what is left of it are complete.
TEST(PipelineRuns, StopAfterAWholeStep) {
  const ir::TrainingOptions training{.loss = "mse", .optimizer = "momentum"};
  const ir::Graph model = layers(8, 12, 5);
  auto layout = pipeline_layout(model, training, {.stages = 3, .micro_batches = 4}, {});
  const Ranks ranks = Ranks::join({.limit_exchange_s = 20, .on_hang = {}}).value();
  const auto run = PipelineRun::start(std::move(*layout), training, ranks, {}).value();
  ASSERT_TRUE(run->begin(inputs_of(ir::training_graph(model, training).value())).ok());
  ASSERT_TRUE(run->step().ok());
  EXPECT_FALSE(run->stopped());
  base::request_stop(SIGINT);
  const auto loss = run->step();
  const bool stopped = run->stopped();
  const auto left = run->end();
  base::request_stop(0);
  ASSERT_TRUE(loss.ok()) << loss.status().message();
  EXPECT_TRUE(stopped);
  ASSERT_TRUE(left.ok()) << left.status().message();
  const Trained expected = expected_of(model, training);
  EXPECT_NEAR(*loss, expected.losses[1], 1e-5 * expected.losses[1]);
  EXPECT_EQ(left->size(), expected.variables.size());
}

TEST(PipelineRuns, ArePredicted) {
  const ir::TrainingOptions training{.loss = "mse"};
  const ir::Graph model = layers(8, 64, 6);
  auto layout = pipeline_layout(model, training, {.stages = 2, .micro_batches = 4}, {});
  const Ranks ranks = Ranks::join({}).value();
  const auto run = PipelineRun::start(std::move(*layout), training, ranks, {}).value();
  // On one core, ranks take turns.
  const auto shared = run->predict(3, 1);
  ASSERT_TRUE(shared.ok()) << shared.status().message();
  EXPECT_GT(shared->seconds, shared->busiest_s);
  const auto predicted = run->predict(3, 2);
  ASSERT_TRUE(predicted.ok()) << predicted.status().message();
  EXPECT_GT(predicted->busiest_s, 0);
  // Two stages, four micro-batches: at least one pass of the other rank is waited for.
  EXPECT_GT(predicted->seconds, predicted->busiest_s);
  EXPECT_LT(predicted->seconds, 10 * predicted->busiest_s);
}

// ---- Messages

TEST(Mailboxes, KeepTheOrderOfEachSenderAndTag) {
  Mailbox box;
  for (int i = 0; i < 3; ++i) box.put(1, 7, {std::byte(i)});
  box.put(2, 7, {std::byte{9}});
  EXPECT_EQ(box.wait(2, 7, 0)->at(0), std::byte{9});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(box.wait(1, 7, 0)->at(0), std::byte(i));
  EXPECT_FALSE(box.take(1, 7)->has_value());
}

TEST(Mailboxes, GiveUpWaiting) {
  Mailbox box;
  const auto late = box.wait(3, 1, 0.01);
  EXPECT_EQ(late.status().code(), base::StatusCode::kRankFailed);
  EXPECT_THAT(late.status().message(), HasSubstr("no message from rank 3"));
  std::thread other([&] { box.fail({base::StatusCode::kRankFailed, "it burns"}); });
  EXPECT_THAT(box.wait(3, 1, 60).status().message(), HasSubstr("it burns"));
  other.join();
  EXPECT_FALSE(box.take(3, 1).ok());
}

// Gradients of any size, also fewer elements than ranks, at ranks with different paces.
TEST(GradientSumming, AddsOverRanks) {
  const std::vector<GradientExchange> exchanges{{{0, 1, 2}, {0}, {0, 1}, 0}, {{0, 2}, {1}, {2}, 0}};
  LocalMessages post(3, 10);
  std::vector<std::vector<ir::Tensor>> gradients(3);
  for (std::size_t r = 0; r < 3; ++r) {
    for (const std::int64_t size : {1, 1, 7}) {
      base::Random random(r * 10 + static_cast<std::uint64_t>(size));
      gradients[r].push_back(ir::Tensor::random({ir::DType::kF32, {size}}, random));
    }
  }
  const auto before = gradients;
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      const auto messages = post.of(static_cast<std::int64_t>(r));
      GradientSums sums(exchanges, static_cast<std::int64_t>(r), 100, *messages);
      // Rank 2 begins with the other exchange.
      if (r == 2) {
        EXPECT_TRUE(sums.start(1, gradients[r]).ok());
      }
      EXPECT_TRUE(sums.start(0, gradients[r]).ok());
      EXPECT_TRUE(sums.advance(gradients[r]).ok());
      if (r == 0) {
        EXPECT_TRUE(sums.start(1, gradients[r]).ok());
      }
      EXPECT_TRUE(sums.finish(gradients[r]).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::int64_t i = 0; i < gradients[0][p].elements(); ++i) {
      double sum = before[0][p].f64_at(i) + before[2][p].f64_at(i);
      if (p < 2) sum += before[1][p].f64_at(i);
      EXPECT_NEAR(gradients[0][p].f64_at(i), sum, 1e-6);
      EXPECT_EQ(gradients[0][p].f64_at(i), gradients[2][p].f64_at(i));
      if (p < 2) {
        EXPECT_EQ(gradients[0][p].f64_at(i), gradients[1][p].f64_at(i));
      }
    }
  }
}

}  // namespace
}  // namespace egret::runtime

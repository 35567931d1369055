// SPDX-License-Identifier: Apache-2.0
// Pipelines whose stages ranks share, as threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "base/stop.h"
#include "tests/runtime/pipeline_training.h"

namespace egret::runtime {
namespace {

using ::testing::HasSubstr;

const PipelineShape kGroups[] = {
    {.kind = PipelineKind::kGpipe, .stages = 2, .micro_batches = 2, .stage_ranks = {2}},
    {.kind = PipelineKind::k1F1B, .stages = 2, .micro_batches = 2, .stage_ranks = {1, 2}},
    {.kind = PipelineKind::k1F1B,
     .stages = 4,
     .stages_per_rank = 2,
     .micro_batches = 2,
     .stage_ranks = {2}},
    {.kind = PipelineKind::kZbH1,
     .stages = 2,
     .micro_batches = 2,
     .replicas = 2,
     .stage_ranks = {2}},
    {.kind = PipelineKind::k1F1B,
     .stages = 2,
     .micro_batches = 2,
     .replicas = 2,
     .stage_ranks = {2, 1}},
    {.kind = PipelineKind::kDualPipe, .stages = 2, .micro_batches = 4, .stage_ranks = {2}},
    {.kind = PipelineKind::k1F1B, .stages = 1, .micro_batches = 2, .stage_ranks = {4}},
};

void expect_trained(const ir::Graph& model, const ir::TrainingOptions& training,
                    std::span<const PipelineShape> shapes, const std::string& strategy) {
  const Trained expected = expected_of(model, training);
  ASSERT_NE(expected.losses.front(), expected.losses.back());
  for (const PipelineShape& shape : shapes) {
    SCOPED_TRACE(strategy + ", schedule " + std::to_string(static_cast<int>(shape.kind)) + ", " +
                 std::to_string(shape.stage_ranks.back()) + " ranks");
    const auto found = trained_on(model, training, shape, true, strategy);
    ASSERT_TRUE(found.ok()) << found.status().message();
    expect_near(*found, expected);
  }
}

TEST(PipelineGroups, TrainAsOneProcessDoes) {
  for (const char* optimizer : {"momentum", "adam"})
    expect_trained(layers(8, 12, 5), {.loss = "mse", .optimizer = optimizer}, kGroups, "tensor");
}

TEST(PipelineGroups, TrainByEveryStrategy) {
  const PipelineShape shapes[] = {kGroups[0], kGroups[3]};
  for (const std::string_view strategy : kStageStrategies)
    expect_trained(layers(8, 8, 4), {.loss = "mse", .optimizer = "momentum"}, shapes,
                   std::string(strategy));
}

TEST(PipelineGroups, TrainAttention) {
  const PipelineShape shapes[] = {kGroups[1], kGroups[3]};
  expect_trained(attention_layers(8, 1),
                 {.loss = "mse", .optimizer = "momentum", .learning_rate = 1e-5}, shapes, "tensor");
}

// The first stage looks the table up, the last one multiplies by it: in other blocks, or in groups
// of other sizes.
TEST(PipelineGroups, SumTheGradientsOfSharedWeights) {
  const ir::TrainingOptions training{.loss = "cross_entropy", .optimizer = "adam"};
  const PipelineShape shapes[] = {kGroups[0], kGroups[1], kGroups[3], kGroups[4]};
  for (const char* strategy : {"tensor", "any"})
    expect_trained(tied_model(8), training, shapes, strategy);
}

// Each rank that sums a gradient updates some parameters, with and without groups.
TEST(PipelineGroups, DivideTheStateAmongReplicas) {
  std::vector<PipelineShape> shapes = {kGroups[3], kGroups[4], kGroups[5]};
  shapes.push_back({.stages = 2, .micro_batches = 2, .replicas = 4, .stage_ranks = {1}});
  for (PipelineShape& shape : shapes) shape.zero_1 = true;
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    const ir::TrainingOptions training{.loss = "mse", .optimizer = optimizer};
    expect_trained(layers(8, 12, 5), training, shapes, "tensor");
  }
  expect_trained(tied_model(8), {.loss = "cross_entropy", .optimizer = "adam"},
                 std::span(shapes).first(2), "tensor");
  auto layout = pipeline_layout(layers(8, 12, 5), {.loss = "mse", .optimizer = "momentum"},
                                shapes.back(), {});
  ASSERT_TRUE(layout.ok());
  std::set<std::int64_t> updaters;
  for (const std::size_t variable : layout->variables_of(0)) {
    const std::int64_t updater = layout->updater_of(0, variable);
    EXPECT_EQ(updater, layout->updater_of(2, variable)) << "replicas agree";
    updaters.insert(updater);
  }
  EXPECT_GT(updaters.size(), 1U);
}

TEST(PipelineGroups, HaveEqualBits) {
  const ir::TrainingOptions training{.loss = "mse", .optimizer = "momentum"};
  const ir::Graph model = layers(8, 12, 5);
  const auto run = [&](PipelineKind kind, bool overlap) {
    return trained_on(
               model, training,
               {.kind = kind, .stages = 2, .micro_batches = 2, .replicas = 2, .stage_ranks = {2}},
               overlap)
        .value();
  };
  const Trained first = run(PipelineKind::k1F1B, true);
  EXPECT_TRUE(equal_bits(first, run(PipelineKind::k1F1B, true)));
  EXPECT_TRUE(equal_bits(first, run(PipelineKind::kGpipe, true)));
  EXPECT_TRUE(equal_bits(first, run(PipelineKind::k1F1B, false)));
}

TEST(PipelineGroups, NameTheStageThatCannotBeCut) {
  const auto refused =
      trained_on(layers(8, 7, 4), {.loss = "mse"}, {.stages = 2, .stage_ranks = {1, 2}});
  EXPECT_EQ(refused.status().code(), base::StatusCode::kBadInput);
  EXPECT_THAT(refused.status().message(), HasSubstr("stage 1"));
}

TEST(PipelineGroups, ArePredictedAndStopAfterAWholeStep) {
  const ir::TrainingOptions training{.loss = "mse", .optimizer = "momentum"};
  const ir::Graph model = layers(8, 64, 6);
  auto layout =
      pipeline_layout(model, training, {.stages = 2, .micro_batches = 4, .stage_ranks = {2}}, {});
  const Ranks ranks = Ranks::join({.limit_exchange_s = 20, .on_hang = {}}).value();
  ASSERT_TRUE(plan_and_divide_stages(*layout, machine_of("x=2"), {}, ranks).ok());
  const auto run = PipelineRun::start(std::move(*layout), training, ranks, {}).value();
  const auto predicted = run->predict(3, 4);
  ASSERT_TRUE(predicted.ok()) << predicted.status().message();
  EXPECT_GT(predicted->busiest_s, 0);
  EXPECT_GT(predicted->seconds, predicted->busiest_s);
  ASSERT_TRUE(run->begin(inputs_of(ir::training_graph(model, training).value())).ok());
  base::request_stop(SIGINT);
  const auto loss = run->step();
  const bool stopped = run->stopped();
  const auto left = run->end();
  base::request_stop(0);
  ASSERT_TRUE(loss.ok()) << loss.status().message();
  EXPECT_TRUE(stopped);
  ASSERT_TRUE(left.ok()) << left.status().message();
}

}  // namespace
}  // namespace egret::runtime

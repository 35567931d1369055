// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/stage_division.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/evaluate/input_draws.h"
#include "ir/evaluate/interpreter.h"
#include "parallel/pipeline/pipeline_layout.h"
#include "tests/parallel/pipeline_models.h"

namespace egret::parallel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = PlacedNode::Kind;

PipelineLayout layout_of(const ir::Graph& model, const PipelineShape& shape) {
  return pipeline_layout(model, {.loss = "mse"}, shape, {}).value();
}

base::Result<Stage> divided(const Stage& stage, const std::string& mesh,
                            const std::string& strategy) {
  EGRET_ASSIGN_OR_RETURN(const base::Json plan,
                         plan_stage(stage, machine_of(mesh), {.strategy = strategy}));
  return divided_stage(stage, plan);
}

std::size_t collectives(const Stage& stage, PassKind kind) {
  const auto& nodes = stage.division->passes[static_cast<std::size_t>(kind)].nodes;
  return static_cast<std::size_t>(std::ranges::count_if(nodes, [](const PlacedNode& node) {
    return node.kind == Kind::kCollective && !node.collective.from.is_copy();
  }));
}

// The placed joint graph computes what that of one rank does.
TEST(StageDivision, ComputesTheStage) {
  for (const ir::Graph& model : {attention_layers(4, 1), layers(8, 8, 4), mlp(8, 8, 16)}) {
    const PipelineLayout layout = layout_of(model, {.stages = 2, .micro_batches = 2});
    for (const Stage& stage : layout.step.stages) {
      for (const std::string strategy : {"tensor", "data", "any", "zero-3", "single"}) {
        SCOPED_TRACE(strategy);
        const auto found = divided(stage, "ranks=2", strategy);
        ASSERT_TRUE(found.ok()) << found.status().message();
        base::Random random(3);
        const std::vector<ir::Tensor> inputs = ir::random_inputs(stage.joint, random);
        std::vector<ir::Tensor> own;
        for (const PlacedNode& node : found->division->joint.nodes) {
          for (std::size_t i = 0; i < inputs.size() && node.kind == Kind::kInput; ++i) {
            if (stage.joint.node(stage.joint.inputs()[i]).name == node.name)
              own.push_back(inputs[i]);
          }
        }
        const auto expected = ir::interpret(stage.joint, inputs).value();
        const auto outputs = interpret(found->division->joint, own);
        ASSERT_TRUE(outputs.ok()) << outputs.status().message();
        ASSERT_EQ(outputs->size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          for (std::int64_t k = 0; k < expected[i].elements(); ++k)
            ASSERT_NEAR((*outputs)[i].f64_at(k), expected[i].f64_at(k), 1e-6);
        }
      }
    }
  }
}

// Megatron-LM's: columns, then rows, one all-reduce of the output, and none for weights.
TEST(StageDivision, HasTheExchangesOfTensorParallelism) {
  const PipelineLayout layout = layout_of(mlp(8, 256, 1024), {.stages = 1, .micro_batches = 2});
  const Stage stage = divided(layout.step.stages[0], "ranks=2", "tensor").value();
  for (const StageParameter& parameter : stage.parameters) {
    const std::string& name = layout.step.loss.parameters[parameter.parameter];
    EXPECT_EQ(to_string(stage.placement(parameter.node), stage.mesh()),
              name == "w1" ? "ranks:S(1)" : "ranks:S(0)")
        << name;
    EXPECT_EQ(stage.placement(parameter.node), stage.placement(parameter.gradient));
  }
  EXPECT_EQ(collectives(stage, PassKind::kForward), 1U);
  EXPECT_EQ(collectives(stage, PassKind::kBackward), 0U);
  EXPECT_EQ(collectives(stage, PassKind::kWeights), 0U);
}

TEST(StageDivision, RefusesWhatCannotBeCut) {
  const PipelineLayout layout = layout_of(layers(8, 7, 4), {.stages = 2, .micro_batches = 2});
  const auto refused = divided(layout.step.stages[0], "ranks=2", "tensor");
  EXPECT_EQ(refused.status().code(), base::StatusCode::kBadInput);
  EXPECT_THAT(refused.status().message(), HasSubstr("cannot be cut into equal blocks"));
  // The plan of another stage.
  const PipelineLayout other = layout_of(layers(8, 8, 4), {.stages = 2, .micro_batches = 2});
  const auto plan =
      plan_stage(other.step.stages[0], machine_of("ranks=2"), {.strategy = "tensor"}).value();
  EXPECT_EQ(divided_stage(other.step.stages[1], plan).status().code(), base::StatusCode::kMismatch);
}

// Every update of a block is a block of the update.
TEST(StageDivision, DividesTheOptimizer) {
  const Mesh mesh = Mesh::parse("ranks=2").value();
  const Placement rows = Placement(1).with(0, AxisPlacement::split(0));
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    const ir::TrainingOptions training{.loss = "mse", .optimizer = optimizer};
    const ir::TrainingGraph step = ir::loss_graph(layers(4, 8, 2), training).value();
    const std::vector<std::size_t> both{0, 1};
    const ir::Graph update = ir::update_graph(step, both, training).value();
    const auto placed = divided_update(update, mesh, [&](std::size_t input) {
      const ir::TensorType& type = update.node(update.inputs()[input]).type;
      return type.rank() == 2 ? rows : Placement(1);
    });
    ASSERT_TRUE(placed.ok()) << placed.status().message();
    for (const PlacedNode& node : placed->nodes) EXPECT_NE(node.kind, Kind::kCollective);
    for (const auto& output : placed->outputs) {
      const PlacedNode& node = placed->nodes[output.node];
      EXPECT_EQ(node.placement, node.whole.rank() == 2 ? rows : Placement(1));
    }
    base::Random random(4);
    EXPECT_TRUE(check_against(*placed, update, ir::random_inputs(update, random)).ok());
  }
}

TEST(PipelineGroups, NumberTheirRanks) {
  const PipelineLayout layout = layout_of(
      layers(8, 8, 4), {.stages = 2, .micro_batches = 2, .replicas = 2, .stage_ranks = {1, 3}});
  EXPECT_EQ(layout.ranks(), 8);
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    const RankPlace at = layout.place_of(rank);
    EXPECT_EQ(at.replica, rank / 4);
    EXPECT_EQ(at.pipeline_rank, rank % 4 == 0 ? 0 : 1);
    EXPECT_EQ(layout.group_begin(at.replica, at.pipeline_rank) + at.place, rank);
  }
  EXPECT_THAT(layout.loss_ranks(), ElementsAre(1, 5));
}

TEST(PipelineGroups, AreRefusedWhereTheyDoNotFit) {
  const auto message = [](PipelineShape shape) {
    const auto layout = pipeline_layout(layers(8, 8, 4), {.loss = "mse"}, shape, {});
    EXPECT_EQ(layout.status().code(), base::StatusCode::kUsage);
    return layout.status().message();
  };
  EXPECT_THAT(message({.stages = 2, .stage_ranks = {1, 2, 1}}),
              HasSubstr("one for each of the 2 ranks of the pipeline"));
  EXPECT_THAT(message({.stages = 2, .stage_ranks = {0}}), HasSubstr("--stage-ranks"));
  EXPECT_THAT(message({.kind = PipelineKind::kDualPipe,
                       .stages = 2,
                       .micro_batches = 4,
                       .stage_ranks = {1, 2}}),
              HasSubstr("DualPipe"));
}

}  // namespace
}  // namespace egret::parallel

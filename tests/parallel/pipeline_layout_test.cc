// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/pipeline_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "parallel/pipeline/stage_cut.h"
#include "parallel/simulator/pipeline_simulation.h"
#include "tests/parallel/pipeline_models.h"

namespace egret::parallel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ir::TrainingOptions kMse{.loss = "mse"};

PipelineLayout layout_of(const ir::Graph& model, const PipelineShape& shape,
                         const ir::TrainingOptions& training = kMse) {
  auto layout = pipeline_layout(model, training, shape, {});
  EXPECT_TRUE(layout.ok()) << layout.status().message();
  return std::move(*layout);
}

// ---- Cuts

// All cuts into three stages, one after the other.
TEST(StageCut, HasTheLightestHeaviestStage) {
  const ir::Graph graph = ir::loss_graph(layers(4, 48, 5), kMse).value().graph;
  const OperatorLine line(graph);
  const cost::Rates rates{1e9, 1e9, 1e-6};
  const double link = 1e7;
  const std::size_t n = line.operators.size();
  // A stage alone: the last of two, whose first stage is as small as a cut allows.
  const auto model = cost::make_model("roofline", rates);
  const auto seconds = [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const ir::Node& node = graph.node(line.operators[i]);
      std::vector<ir::TensorType> types;
      for (const ir::NodeId input : node.inputs) types.push_back(graph.node(input).type);
      bool constant[4] = {};
      for (std::size_t k = 0; k < types.size(); ++k)
        constant[k] = graph.node(node.inputs[k]).kind == ir::NodeKind::kConstant;
      sum +=
          3 *
          model->cost({node.op, &node.attrs, types, {constant, types.size()}, &node.type})->seconds;
    }
    for (const ir::NodeId id : line.crossing(begin))
      sum += 2 * static_cast<double>(graph.node(id).type.bytes()) / link;
    return sum;
  };
  double best = HUGE_VAL;
  for (std::size_t a = 1; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b)
      best = std::min(best, std::max({seconds(0, a), seconds(a, b), seconds(b, n)}));
  }
  const auto cuts = balanced_cuts(graph, line, 3, rates, link);
  ASSERT_TRUE(cuts.ok()) << cuts.status().message();
  ASSERT_EQ(cuts->size(), 4U);
  double found = 0;
  for (std::size_t s = 0; s < 3; ++s) found = std::max(found, seconds((*cuts)[s], (*cuts)[s + 1]));
  EXPECT_NEAR(found, best, 1e-9 * best);
}

TEST(StageCut, NeedsAnOperatorForEachStage) {
  const ir::Graph graph = ir::loss_graph(layers(2, 4, 1), kMse).value().graph;
  const OperatorLine line(graph);
  const auto most = static_cast<std::int64_t>(line.operators.size());
  EXPECT_TRUE(balanced_cuts(graph, line, most, {}, 1e9).ok());
  EXPECT_EQ(balanced_cuts(graph, line, most + 1, {}, 1e9).status().code(),
            base::StatusCode::kUsage);
}

// ---- Stages

// Whatever takes about equal time.
TEST(StagedStep, HasTheLayersThatAreAskedFor) {
  for (const std::vector<std::int64_t>& counts :
       {std::vector<std::int64_t>{1, 3, 2}, {4, 1, 1}, {2, 2, 2}}) {
    const PipelineLayout layout =
        layout_of(layers(4, 8, 6), {.stages = 3, .micro_batches = 2, .stage_layers = counts}, kMse);
    std::vector<std::int64_t> found;
    for (const Stage& stage : layout.step.stages) {
      found.push_back(static_cast<std::int64_t>(stage.parameters.size()));
      EXPECT_LE(stage.incoming.size(), 1U);
      EXPECT_LE(stage.outgoing.size(), 1U);
    }
    EXPECT_EQ(found, counts);
  }
}

TEST(StagedStep, HasBoundariesThatFit) {
  for (const std::int64_t stages : {1, 2, 3, 5}) {
    const PipelineLayout layout =
        layout_of(tied_model(4), {.stages = stages, .micro_batches = 2}, {.loss = "cross_entropy"});
    ASSERT_EQ(layout.step.stages.size(), static_cast<std::size_t>(stages));
    EXPECT_TRUE(layout.step.stages.front().incoming.empty());
    EXPECT_TRUE(layout.step.stages.back().outgoing.empty());
    for (std::size_t s = 0; s + 1 < layout.step.stages.size(); ++s) {
      const auto& out = layout.step.stages[s].outgoing;
      const auto& in = layout.step.stages[s + 1].incoming;
      ASSERT_EQ(out.size(), in.size());
      ASSERT_FALSE(out.empty());
      for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(out[i].type, in[i].type);
        EXPECT_EQ(out[i].gradient.has_value(), in[i].gradient.has_value());
      }
      EXPECT_FALSE(layout.step.stages[s].loss.has_value());
    }
    EXPECT_TRUE(layout.step.stages.back().loss.has_value());
  }
}

// The two halves of a backward pass compute what the whole one does, and nothing twice.
TEST(StagedStep, SplitsBackwardPasses) {
  const PipelineLayout layout = layout_of(layers(4, 8, 4), {.stages = 2, .micro_batches = 2});
  for (const Stage& stage : layout.step.stages) {
    const auto operators = [&](PassKind kind) { return stage.pass(kind).graph.operator_count(); };
    EXPECT_EQ(operators(PassKind::kInputs) + operators(PassKind::kWeights),
              operators(PassKind::kBackward));
    EXPECT_GT(operators(PassKind::kWeights), 0U);
  }
  EXPECT_TRUE(layout.step.stages[0].pass(PassKind::kInputs).graph.outputs().empty())
      << "no stage before it needs gradients";
  EXPECT_FALSE(layout.step.stages[1].pass(PassKind::kInputs).graph.outputs().empty());
}

TEST(PipelineLayout, NamesWhoSumsGradients) {
  EXPECT_TRUE(layout_of(layers(8, 8, 4), {.stages = 2, .micro_batches = 2}).exchanges.empty());
  const auto replicated =
      layout_of(layers(8, 8, 4), {.stages = 2, .micro_batches = 2, .replicas = 2}).exchanges;
  ASSERT_EQ(replicated.size(), 2U);
  EXPECT_THAT(replicated[0].ranks, ElementsAre(0, 2));
  EXPECT_THAT(replicated[1].ranks, ElementsAre(1, 3));
  EXPECT_EQ(replicated[0].bytes + replicated[1].bytes, 4 * 8 * 8 * 4);
  const PipelineLayout tied =
      layout_of(tied_model(4), {.stages = 3, .micro_batches = 2}, {.loss = "cross_entropy"});
  ASSERT_EQ(tied.exchanges.size(), 1U);
  EXPECT_EQ(tied.step.loss.parameters[tied.exchanges[0].parameters.at(0)], "table");
  EXPECT_EQ(tied.exchanges[0].ranks.size(), tied.exchanges[0].stages.size());
  const PipelineShape both{.kind = PipelineKind::kDualPipe, .stages = 2, .micro_batches = 4};
  const PipelineLayout dual = layout_of(layers(8, 8, 4), both);
  ASSERT_FALSE(dual.exchanges.empty());
  std::vector<std::size_t> summed;
  for (const GradientExchange& exchange : dual.exchanges) {
    EXPECT_THAT(exchange.ranks, ElementsAre(0, 1));
    summed.insert(summed.end(), exchange.parameters.begin(), exchange.parameters.end());
  }
  std::ranges::sort(summed);
  EXPECT_THAT(summed, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(dual.step.loss.parameters.size(), 4U);
}

TEST(PipelineLayout, RefusesWhatCannotBeCut) {
  const auto message = [](const ir::Graph& model, const PipelineShape& shape) {
    return pipeline_layout(model, kMse, shape, {}).status().message();
  };
  EXPECT_THAT(message(layers(6, 8, 2), {.stages = 2, .micro_batches = 4}),
              HasSubstr("cannot be divided into 4"));
  Model m;
  const ir::Value x = m.input("x", {4, 3});
  const ir::Value mixed =
      m("softmax", {m("matmul", {x, m.weight("w", {3, 3})})}, {{"axis", std::int64_t{0}}});
  EXPECT_THAT(message(m.finish(mixed), {.stages = 1, .micro_batches = 2}), HasSubstr("mixes"));
  EXPECT_THAT(message(layers(8, 8, 4), {.stages = 2, .stage_layers = {1, 2}}),
              HasSubstr("sum to the model's 4 equal layers"));
  EXPECT_THAT(message(layers(8, 8, 4), {.stages = 2, .stage_layers = {4}}),
              HasSubstr("for each of the 2 stages"));
  EXPECT_THAT(message(layers(8, 8, 4), {.stages = 2, .stage_layers = {4, 0}}),
              HasSubstr("for each of the 2 stages"));
  EXPECT_THAT(message(layers(8, 8, 2), {.stages = 2, .stage_layers = {1, 1}}),
              HasSubstr("no three of them"));
  EXPECT_THAT(message(layers(8, 8, 4), {.stages = 3, .stages_per_rank = 2}),
              HasSubstr("multiple of --stages-per-rank"));
  EXPECT_THAT(
      message(layers(8, 8, 4), {.kind = PipelineKind::kGpipe, .stages = 4, .stages_per_rank = 2}),
      HasSubstr("--schedule 1f1b"));
}

// ---- Simulation

PipelineCosts costs_of(const PipelineLayout& layout, double f, double i, double w) {
  PipelineCosts costs;
  costs.stages.assign(layout.step.stages.size(), {f, i + w, i, w});
  costs.update_s.assign(static_cast<std::size_t>(layout.schedule.ranks), 0);
  costs.bytes_per_second = 1e15;
  return costs;
}

TEST(PipelineSimulation, HasTheIdleTimesOfTheSchedules) {
  const double f = 3, i = 4, w = 2;
  for (const std::int64_t p : {2, 4}) {
    for (const std::int64_t m : {p, 2 * p}) {
      const auto idle = [&](PipelineKind kind, std::int64_t chunks) {
        const PipelineLayout layout = layout_of(
            layers(m, 8, 8),
            {.kind = kind, .stages = p * chunks, .stages_per_rank = chunks, .micro_batches = m});
        const auto predicted = simulate_pipeline(layout, costs_of(layout, f, i, w));
        EXPECT_TRUE(predicted.ok()) << predicted.status().message();
        const double busy = static_cast<double>(m * chunks) * (f + i + w);
        EXPECT_NEAR(predicted->busiest_s, busy, 1e-9 * busy);
        return predicted->seconds - busy;
      };
      const auto bubbles = static_cast<double>(p - 1);
      EXPECT_NEAR(idle(PipelineKind::kGpipe, 1), bubbles * (f + i + w), 1e-6);
      EXPECT_NEAR(idle(PipelineKind::k1F1B, 1), bubbles * (f + i + w), 1e-6);
      EXPECT_NEAR(idle(PipelineKind::k1F1B, 2), bubbles * (f + i + w), 1e-6);  // chunks are whole
      EXPECT_NEAR(idle(PipelineKind::kZbH1, 1), bubbles * (f + i - w), 1e-6);
    }
  }
}

TEST(PipelineSimulation, PricesMessages) {
  const PipelineLayout layout = layout_of(layers(4, 8, 4), {.stages = 2, .micro_batches = 1});
  PipelineCosts costs = costs_of(layout, 1, 1, 1);
  costs.messages = {{0, 0.25}};
  costs.bytes_per_second = 100;
  const double bytes = layout.step.stages[0].outgoing_bytes();
  EXPECT_EQ(bytes, layout.step.stages[1].gradient_bytes());
  EXPECT_GE(bytes, 4 * 8 * 4);
  for (const bool overlap : {true, false}) {
    costs.overlap = overlap;
    // The last stage tells rank 0 the loss while that one computes, and rank 0 then tells all.
    const double expected = 2 * 3 + 2 * (0.25 + bytes / 100) + 0.25;
    EXPECT_NEAR(simulate_pipeline(layout, costs)->seconds, expected, 1e-9);
  }
}

TEST(PipelineSimulation, PricesMessagesBySize) {
  const std::vector<MessageTime> times = {{100, 1, 10}, {300, 2, 30}, {400, 2, 30}};
  EXPECT_EQ(time_of({}, 100).latency_s, 0);
  EXPECT_EQ(time_of(times, 0).latency_s, 1);
  EXPECT_EQ(time_of(times, 100).latency_s, 1);
  EXPECT_EQ(time_of(times, 150).latency_s, 1.25);
  EXPECT_EQ(time_of(times, 150).sender_s, 15);
  EXPECT_EQ(time_of(times, 1000).latency_s, 2);
  EXPECT_EQ(time_of(times, 1000).sender_s, 30);
  const PipelineLayout layout = layout_of(layers(4, 8, 4), {.stages = 2, .micro_batches = 1});
  PipelineCosts costs = costs_of(layout, 1, 1, 1);
  costs.bytes_per_second = 1e15;
  const double bytes = layout.step.stages[0].outgoing_bytes();
  costs.messages = {{0, 0.5}, {2 * bytes, 1.5}};
  // The loss is told in an empty message.
  EXPECT_NEAR(simulate_pipeline(layout, costs)->seconds, 2 * 3 + 2 * 1 + 0.5, 1e-9);
}

// A rank that sends computes slower meanwhile.
TEST(PipelineSimulation, SlowsPassesBesideMessages) {
  const PipelineShape shape{.kind = PipelineKind::kGpipe, .stages = 2, .micro_batches = 4};
  const PipelineLayout layout = layout_of(layers(4, 8, 4), shape);
  PipelineCosts costs = costs_of(layout, 1, 1, 1);
  const double bytes = layout.step.stages[0].outgoing_bytes();
  costs.bytes_per_second = bytes / 1;
  const double alone = simulate_pipeline(layout, costs)->seconds;
  costs.overlap_slowdown = 0.5;
  // In the long run, a pass of 1 s beside a message of 1 s takes 1 + 0.5 / 1.5 s.
  const double beside = simulate_pipeline(layout, costs)->seconds;
  EXPECT_GT(beside, 1.1 * alone);
  EXPECT_LT(beside, 1.5 * alone);
}

// A rank computes on when its processor has handed the message to the network.
TEST(PipelineSimulation, SendingTakesTheSender) {
  const PipelineShape shape{.kind = PipelineKind::kGpipe, .stages = 2, .micro_batches = 4};
  const PipelineLayout layout = layout_of(layers(4, 8, 4), shape);
  PipelineCosts costs = costs_of(layout, 1, 1, 1);
  costs.bytes_per_second = 1e15;
  costs.messages = {{0, 0, 0.25}};
  for (const bool overlap : {true, false}) {
    costs.overlap = overlap;
    // The first rank's last forward pass ends after four passes and three calls; the other one's
    // gradient of the last micro-batch, after four more backward passes and three calls.
    const double expected = (4 + 3 * 0.25) + 1 + (4 * 2 + 3 * 0.25) + 2;
    EXPECT_NEAR(simulate_pipeline(layout, costs)->seconds, expected, 1e-9);
  }
}

// Messages follow each other without waiting for the latency of the one before.
TEST(PipelineSimulation, LatenciesOverlap) {
  const PipelineShape shape{.kind = PipelineKind::kGpipe, .stages = 2, .micro_batches = 4};
  const PipelineLayout layout = layout_of(layers(4, 8, 4), shape);
  PipelineCosts costs = costs_of(layout, 1, 1, 1);
  costs.messages = {{0, 5}};
  // Each rank waits for one pass of each direction and a latency; then rank 0 tells the loss.
  EXPECT_NEAR(simulate_pipeline(layout, costs)->seconds, 5 * (1 + 2) + 2 * 5 + 5, 1e-6);
}

// The sums of a stage's gradients travel beside the passes of the other stage of the rank.
TEST(PipelineSimulation, HidesSumsOfGradients) {
  const PipelineLayout layout = layout_of(
      layers(4, 8, 4), {.stages = 2, .stages_per_rank = 2, .micro_batches = 1, .replicas = 2});
  ASSERT_EQ(layout.exchanges.size(), 2U);
  PipelineCosts costs = costs_of(layout, 1, 1, 1);
  costs.update_s = {0.5};
  costs.bytes_per_second = 1000;
  const double first = layout.exchanges[0].bytes / 1000;   // two rounds of half of the bytes
  const double second = layout.exchanges[1].bytes / 1000;  // of the last stage
  ASSERT_LT(second, 2);
  EXPECT_NEAR(simulate_pipeline(layout, costs)->seconds, 6 + first + 0.5, 1e-9);
  costs.overlap = false;
  EXPECT_NEAR(simulate_pipeline(layout, costs)->seconds, 6 + first + second + 0.5, 1e-9);
}

TEST(PipelineSimulation, SharesCores) {
  const PipelineLayout layout = layout_of(layers(8, 8, 8), {.stages = 4, .micro_batches = 8});
  PipelineCosts costs = costs_of(layout, 1, 1, 1);
  costs.cores = 1;
  EXPECT_NEAR(simulate_pipeline(layout, costs)->seconds, 4 * 8 * 3, 1e-6);
  costs.ranks_per_host = 2;  // two hosts, each with one core for two stages
  costs.cores = 1;
  const double two_hosts = simulate_pipeline(layout, costs)->seconds;
  EXPECT_GE(two_hosts, 2 * 8 * 3 - 1e-6);
  EXPECT_LT(two_hosts, 4 * 8 * 3 - 1);
  costs.cores = 2;
  EXPECT_NEAR(simulate_pipeline(layout, costs)->seconds, 8 * 3 + 3 * 3, 1e-6);
  costs.ranks_per_host = 0;
  costs.cores = 4;
  EXPECT_NEAR(simulate_pipeline(layout, costs)->seconds, 8 * 3 + 3 * 3, 1e-6);
}

}  // namespace
}  // namespace egret::parallel

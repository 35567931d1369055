// SPDX-License-Identifier: Apache-2.0
// Plans whose exchanges run beside computation: the order of their programs, and what hides what.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "parallel/plan/independent_work.h"
#include "parallel/simulator/overlapped_program.h"
#include "parallel/simulator/plan_simulation.h"
#include "rules/tensors/tensor_egraph.h"
#include "tests/parallel/pipeline_models.h"

namespace egret::parallel {
namespace {

// Devices whose exchanges take about as long as their computing.
Cluster overlapping(std::string_view mesh, double bytes_per_second) {
  Cluster machine = machine_of(mesh);
  machine.overlaps = true;
  for (Link& link : machine.links) link.bytes_per_second = bytes_per_second;
  return machine;
}

struct Step {
  ir::TrainingGraph graph;
  PlanTask task;

  explicit Step(const ir::Graph& model)
      : graph(ir::training_graph(model, {.loss = "mse", .optimizer = "sgd"}).value()),
        task(task_of(graph)) {}
};

ParallelPlanOptions options_of(const Cluster& machine, bool overlap,
                               const std::string& strategy = "any") {
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  options.strategy = strategy;
  options.extract_time = 10;
  options.overlap = overlap;
  if (overlap) {
    options.simulate = [&machine](PlacedGraph& program, bool reorder) {
      return overlapped_seconds(program, machine, reorder);
    };
  }
  return options;
}

double busy_seconds(const PlacedGraph& program, const Cluster& machine, bool communicates) {
  const PlanSimulation simulated = simulate_plan(program, machine).value();
  return communicates ? simulated.communication_s : simulated.compute_s;
}

TEST(Overlap, OrdersAProgramWithoutChangingIt) {
  const Step step(layers(64, 32, 5));
  const Cluster machine = overlapping("x=4", 1e9);
  const ParallelPlan plan =
      make_plan(step.task, machine, options_of(machine, false, "data")).value();
  const PlacedGraph ordered = ordered_for_overlap(plan.program, machine).value();
  EXPECT_EQ(ordered.nodes.size(), plan.program.nodes.size());
  EXPECT_TRUE(check(ordered).ok());
  EXPECT_TRUE(check_against(ordered, step.graph.graph, step.task.inputs).ok());
  EXPECT_LT(simulate_plan(ordered, machine)->seconds(),
            simulate_plan(plan.program, machine)->seconds());
}

// The gradients of a layer travel while those of the layers before are computed: with slow links
// the links are never idle once the first gradient is there, with fast ones only the last gradients
// show.
TEST(Overlap, HidesTheSumsOfGradients) {
  const Step step(layers(256, 64, 6));
  for (const double rate : {1e8, 1e9, 1e10}) {
    const Cluster machine = overlapping("x=4", rate);
    const ParallelPlan plan =
        make_plan(step.task, machine, options_of(machine, true, "data")).value();
    EXPECT_TRUE(plan.overlaps);
    const double computes = busy_seconds(plan.program, machine, false);
    const double sends = busy_seconds(plan.program, machine, true);
    EXPECT_NEAR(plan.sequential_s, computes + sends, 1e-9);
    EXPECT_GE(plan.time_s, std::max(computes, sends) * (1 - 1e-9));
    EXPECT_LT(plan.time_s, 0.95 * plan.sequential_s) << rate;
    EXPECT_LE(plan.bound_s, plan.time_s);
    EXPECT_GE(plan.bound_s, computes * (1 - 1e-9)) << "one kind of plan has one computing time";
  }
}

// The plan with overlap is never worse than the plan without it, or a baseline, in the simulation.
TEST(Overlap, PlansAreAtLeastAsGoodAsThoseWithoutIt) {
  int better = 0;
  for (const double rate : {3e7, 1e9}) {
    for (const std::int64_t batch : {16, 256}) {
      const Step step(layers(batch, 64, 3));
      const Cluster machine = overlapping("x=4", rate);
      ParallelPlan without = make_plan(step.task, machine, options_of(machine, false)).value();
      const ParallelPlan with = make_plan(step.task, machine, options_of(machine, true)).value();
      const double simulated = overlapped_seconds(without.program, machine, true).value();
      EXPECT_LE(with.time_s, simulated * (1 + 1e-9)) << rate << " " << batch;
      better += with.time_s < simulated * 0.999;
      for (const auto& [name, seconds] : with.baselines)
        EXPECT_LE(with.time_s, seconds * (1 + 1e-9)) << name;
      EXPECT_TRUE(check_against(with.program, step.graph.graph, step.task.inputs).ok());
    }
  }
  EXPECT_GT(better, 0);
}

TEST(Overlap, NeedsAMachineOnWhichExchangesRunBesideComputation) {
  const Step step(layers(16, 16, 3));
  const Cluster machine = machine_of("x=2");
  ParallelPlanOptions options = options_of(machine, true);
  options.simulate = nullptr;
  EXPECT_EQ(make_plan(step.task, machine, options).status().code(), base::StatusCode::kUsage);
}

// Nothing is independent of the values of a chain; of two towers, one is of the other.
TEST(IndependentWork, IsThatOfOtherBranches) {
  const auto seconds_of = [](const ir::Graph& graph, const char* kind) {
    const auto tensors = rules::TensorEGraph::from_graph(graph).value();
    const Cluster machine = machine_of("x=2");
    PlacedEGraph::Request request;
    request.outputs = {Placement(1)};
    const auto placed = PlacedEGraph::of(*tensors, machine.mesh, request).value();
    const std::vector<double> seconds = independent_seconds(*placed, machine);
    double least = HUGE_VAL, most = 0;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const ir::Node& node = graph.nodes()[i];
      if (node.kind != ir::NodeKind::kOperator || node.op->name() != kind) continue;
      const double one = seconds[tensors->value(ir::NodeId(i)).index()];
      least = std::min(least, one);
      most = std::max(most, one);
    }
    return std::pair(least, most);
  };
  Model chain;
  ir::Value x = chain.input("x", {64, 64});
  for (const char* name : {"a", "b", "c"})
    x = chain("tanh", {chain("matmul", {x, chain.weight(name, {64, 64})})});
  const auto in_chain = seconds_of(chain.finish(x), "tanh");
  EXPECT_EQ(in_chain.second, 0);

  Model towers;
  const ir::Value start = towers.input("x", {64, 64});
  const auto tower = [&](const char* name) {
    return towers("tanh", {towers("matmul", {start, towers.weight(name, {64, 64})})});
  };
  const ir::Value left = tower("a");
  const auto in_towers = seconds_of(towers.finish(towers("add", {left, tower("b")})), "tanh");
  EXPECT_GT(in_towers.first, 0);
  EXPECT_NEAR(in_towers.first, in_towers.second, 1e-15);
}

}  // namespace
}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
// Ranks run a program with recomputations in its order, and free values behind their last reader.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/backend.h"
#include "ir/graph/builder.h"
#include "parallel/plan/planner.h"
#include "tests/runtime/ranks.h"

namespace egret::runtime {
namespace {

using namespace parallel;

Cluster two_ranks() {
  return parse_cluster(cluster_presets().front().toml, "preset")
      ->with_mesh(Mesh::parse("x=2").value());
}

// A chain of values, which are read again in the opposite order.
ir::Graph there_and_back(int layers) {
  ir::GraphBuilder b;
  base::Random random(7);
  std::vector<ir::Value> chain{b.input("x", {ir::DType::kF32, {256, 16}})};
  for (int k = 0; k < layers; ++k) {
    const auto weight = ir::Tensor::random({ir::DType::kF32, {16, 16}}, random);
    chain.push_back(b.add(
        "tanh", {b.add("matmul", {chain.back(), b.constant(weight, "w" + std::to_string(k))})}));
  }
  ir::Value y = chain.back();
  for (int k = layers - 1; k > 0; --k) y = b.add("mul", {y, chain[static_cast<std::size_t>(k)]});
  b.output("y", y);
  return b.finish().value();
}

// Values that are copied out go to files in FOLDER, if there is one.
std::vector<ir::Tensor> run_on_ranks(const PlacedGraph& graph,
                                     const std::vector<ir::Tensor>& inputs,
                                     const std::string& folder = "") {
  std::vector<ir::Tensor> results(2);
  Post post;
  on_all_ranks(graph.mesh, [&](std::int64_t rank) {
    const RankProgram program = rank_program(graph, rank).value();
    const auto graphs = program.graphs();
    const auto run = [&](std::size_t i, std::span<const ir::Tensor> values) {
      return backends::find_backend("cpu")
          ->compile(*graphs[i], {.threads = 1})
          .value()
          ->run(values);
    };
    const auto held = held_inputs(graph, rank, inputs).value();
    ValueStorage storage;
    if (!folder.empty()) storage = ValueStorage::in(folder, graph).value();
    for (int step = 0; step < 2; ++step) {
      results[static_cast<std::size_t>(rank)] =
          run_rank(graph, program, held, run, post.of(rank), storage).value().front();
    }
  });
  return results;
}

TEST(RecomputedRanks, ComputeTheSameBits) {
  const ir::Graph graph = there_and_back(6);
  const Cluster machine = two_ranks();
  const auto plan = make_plan({graph}, machine, {.sharded_inputs = true});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const double fixed = held_bytes(plan->program).fixed;
  const double limit = fixed + 0.6 * (plan->memory_bytes - fixed);
  const auto found = recomputed_program(plan->program, machine, limit, {.seconds = 3});
  ASSERT_TRUE(found.ok() && *found);
  const PlacedGraph& again = (*found)->program;
  EXPECT_GT((*found)->recomputation.computations, 0U);
  base::Random random(3);
  const std::vector<ir::Tensor> inputs{ir::Tensor::random({ir::DType::kF32, {256, 16}}, random)};
  const auto expected = run_on_ranks(plan->program, inputs);
  const auto results = run_on_ranks(again, inputs);
  for (std::size_t rank = 0; rank < 2; ++rank)
    EXPECT_EQ(results[rank].content_hash(), expected[rank].content_hash());
}

TEST(RecomputedRanks, CopyValuesToFilesAndBack) {
  const Cluster machine = two_ranks();
  const auto plan = make_plan({there_and_back(6)}, machine, {.sharded_inputs = true});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const double fixed = held_bytes(plan->program).fixed;
  const double limit = fixed + 0.6 * (plan->memory_bytes - fixed);
  const auto found = recomputed_program(plan->program, machine, limit,
                                        {.seconds = 3, .storage_bytes_per_second = 1e13});
  ASSERT_TRUE(found.ok() && *found);
  const PlacedGraph& stored = (*found)->program;
  EXPECT_GT((*found)->recomputation.copies, 0U);
  base::Random random(3);
  const std::vector<ir::Tensor> inputs{ir::Tensor::random({ir::DType::kF32, {256, 16}}, random)};
  const auto expected = run_on_ranks(plan->program, inputs);
  const std::string folder = ::testing::TempDir();
  for (const std::string& where : {std::string(), folder}) {
    const auto results = run_on_ranks(stored, inputs, where);
    for (std::size_t rank = 0; rank < 2; ++rank)
      EXPECT_EQ(results[rank].content_hash(), expected[rank].content_hash()) << where;
  }
  EXPECT_EQ(ValueStorage::in("/nowhere", stored).status().code(), base::StatusCode::kUnavailable);
  // A value that comes back is not held in between.
  const RankProgram program = rank_program(stored, 0).value();
  for (std::size_t i = 0; i < stored.nodes.size(); ++i) {
    if (stored.nodes[i].kind != PlacedNode::Kind::kBack) continue;
    std::size_t freed_in = program.stages.size(), back_in = program.stages.size();
    for (std::size_t stage = 0; stage < program.stages.size(); ++stage) {
      const RankStage& now = program.stages[stage];
      if (std::ranges::find(now.collectives, i) != now.collectives.end()) back_in = stage;
      for (const auto& part : now.freed) {
        if (std::ranges::find(part, stored.nodes[i].inputs.front()) != part.end()) freed_in = stage;
      }
    }
    EXPECT_LT(back_in, program.stages.size());
    EXPECT_LE(freed_in, back_in);
  }
}

// The stages have the nodes in the order of the program, and no part reads what is freed.
TEST(RecomputedRanks, KeepTheOrder) {
  const ir::Graph graph = there_and_back(6);
  const auto plan = make_plan({graph}, two_ranks(), {.sharded_inputs = true});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const double fixed = held_bytes(plan->program).fixed;
  for (const double share : {0.5, 0.7, 1.0}) {
    const auto found = recomputed_program(
        plan->program, two_ranks(), fixed + share * (plan->memory_bytes - fixed), {.seconds = 2});
    ASSERT_TRUE(found.ok());
    if (!*found) continue;
    const RankProgram program = rank_program((*found)->program, 0).value();
    std::vector<std::size_t> order;
    std::vector<bool> freed((*found)->program.nodes.size(), false);
    for (const RankStage& stage : program.stages) {
      for (const std::size_t node : stage.segment.inputs) EXPECT_FALSE(freed[node]);
      order.insert(order.end(), stage.segment.outputs.begin(), stage.segment.outputs.end());
      ASSERT_EQ(stage.freed.size(), 1 + stage.collectives.size());
      for (std::size_t part = 0; part < stage.freed.size(); ++part) {
        if (part > 0) {
          const std::size_t node = stage.collectives[part - 1];
          order.push_back(node);
          EXPECT_FALSE(freed[(*found)->program.nodes[node].inputs.front()]);
        }
        for (const std::size_t node : stage.freed[part]) {
          EXPECT_FALSE(freed[node]);
          freed[node] = true;
        }
      }
    }
    EXPECT_TRUE(std::ranges::is_sorted(order));
    for (const auto& output : (*found)->program.outputs) EXPECT_FALSE(freed[output.node]);
  }
}

}  // namespace
}  // namespace egret::runtime

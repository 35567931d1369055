// SPDX-License-Identifier: Apache-2.0
// Where values lie while a program runs (backends/codegen/program.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/codegen/program.h"
#include "backends/memory_planner.h"
#include "base/random.h"
#include "ir/graph/builder.h"

namespace egret::backends::codegen {
namespace {

constexpr std::int64_t kEnough = 1 << 30;

Program program(const ir::Graph& graph, std::int64_t most_apart) {
  PreparedGraph prepared{graph, {}, 0};
  for (std::size_t i = 0; i < graph.size(); ++i) prepared.origin.emplace_back(i);
  return make_program(std::move(prepared), find_regions(graph, {.fuse = false}), most_apart);
}

ir::Value relu(ir::GraphBuilder& b, ir::Value x) { return b.add("relu", {x}); }

// Steps that compute the value, or read it.
std::set<std::size_t> touching(const Program& of, ir::NodeId value) {
  std::set<std::size_t> steps;
  for (std::size_t s = 0; s < of.steps.size(); ++s) {
    const auto& inputs = of.steps[s].inputs;
    if (of.steps[s].root() == value || std::ranges::find(inputs, value) != inputs.end())
      steps.insert(s);
  }
  return steps;
}

// Steps whose values the step's value is computed from.
std::set<std::size_t> behind(const Program& of, std::size_t step) {
  std::set<std::size_t> all;
  for (std::size_t s = 0; s < step; ++s) {
    const auto& inputs = of.steps[step].inputs;
    if (std::ranges::find(inputs, of.steps[s].root()) == inputs.end()) continue;
    all.insert(s);
    all.merge(behind(of, s));
  }
  return all;
}

bool precedes(const Program& of, ir::NodeId first, std::size_t step) {
  return std::ranges::includes(behind(of, step), touching(of, first));
}

TEST(Placement, SharesAPlaceBetweenBranchesOnlyInOrder) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {256}));
  const ir::Value left = relu(b, relu(b, relu(b, x)));
  const ir::Value right = relu(b, relu(b, relu(b, x)));
  b.output("y", b.add("add", {left, right}));
  const ir::Graph graph = *std::move(b).finish();
  // Of each branch one value lives on while the next is computed, of the first the last one too.
  EXPECT_EQ(program(graph, 0).arena_bytes, 3 * 1024);
  EXPECT_EQ(program(graph, kEnough).arena_bytes, 4 * 1024);
  EXPECT_EQ(program(graph, 4 * 1024 - 1).arena_bytes, 3 * 1024);
}

TEST(Placement, TakesNoMoreForAChain) {
  ir::GraphBuilder b;
  ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {256}));
  for (int i = 0; i < 9; ++i) x = relu(b, x);
  b.output("y", x);
  const ir::Graph graph = *std::move(b).finish();
  EXPECT_EQ(program(graph, kEnough).arena_bytes, program(graph, 0).arena_bytes);
}

TEST(Placement, OrdersNoStepsThatDoNotDependOnEachOther) {
  int shared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    base::Random random(seed);
    ir::GraphBuilder b;
    std::vector<ir::Value> values{b.input("x", ir::TensorType(ir::DType::kF32, {16, 16}))};
    const auto any = [&] {
      const auto recent = std::min<std::int64_t>(static_cast<std::int64_t>(values.size()), 6);
      return values[values.size() - 1 - static_cast<std::size_t>(random.between(0, recent - 1))];
    };
    for (int i = 0; i < 20; ++i) values.push_back(b.add("add", {any(), any()}));
    b.output("y", values.back());
    b.output("z", any());
    const ir::Graph graph = *std::move(b).finish();
    const Program of = program(graph, kEnough);
    for (std::size_t i = 0; i < of.steps.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const ir::NodeId later = of.steps[i].root(), earlier = of.steps[j].root();
        const Place &a = of.places[earlier.index()], &c = of.places[later.index()];
        if (a.kind != Place::Kind::kArena || c.kind != Place::Kind::kArena || a.offset != c.offset)
          continue;
        ++shared;
        EXPECT_TRUE(precedes(of, earlier, i)) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(shared, 100);
}

}  // namespace
}  // namespace egret::backends::codegen

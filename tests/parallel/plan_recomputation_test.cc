// SPDX-License-Identifier: Apache-2.0
// Plans whose programs compute values again: against an exhaustive search over orders, and bit for
// bit against the programs that keep all values.
#include "parallel/plan/plan_recomputation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

#include "extract/recompute/methods.h"
#include "parallel/placed/program_prices.h"
#include "parallel/plan/plan_file.h"
#include "parallel/simulator/plan_simulation.h"
#include "tests/parallel/model.h"

namespace egret::parallel {
namespace {

using ::testing::HasSubstr;

// Layers of a product and tanh: each value waits for its gradient.
ir::Graph deep_tanh(int layers, std::int64_t batch, std::int64_t width) {
  Model m;
  std::vector<std::string> names;
  for (int k = 0; k < layers; ++k) names.push_back("w" + std::to_string(k));
  ir::Value x = m.input("x", {batch, width});
  for (const std::string& name : names)
    x = m("tanh", {m("matmul", {x, m.weight(name.c_str(), {width, width})})});
  return m.finish(x);
}

// A chain of values, which are read again in the opposite order.
ir::Graph there_and_back(int layers, std::int64_t batch, std::int64_t width) {
  Model m;
  std::vector<std::string> names;
  for (int k = 0; k < layers; ++k) names.push_back("w" + std::to_string(k));
  std::vector<ir::Value> chain{m.input("x", {batch, width})};
  for (const std::string& name : names) {
    const ir::Value weight = m.weight(name.c_str(), {width, width});
    chain.push_back(m("tanh", {m("matmul", {chain.back(), weight})}));
  }
  ir::Value y = chain.back();
  for (int k = layers - 1; k > 0; --k) y = m("mul", {y, chain[static_cast<std::size_t>(k)]});
  return m.finish(y);
}

ir::TrainingGraph deep_step(int layers, std::int64_t batch = 2048, std::int64_t width = 16,
                            const std::string& optimizer = "sgd") {
  return ir::training_graph(deep_tanh(layers, batch, width),
                            {.loss = "mse", .optimizer = optimizer})
      .value();
}

ParallelPlan planned(const PlanTask& task, const Cluster& machine, std::int64_t memory,
                     const std::string& by = "search") {
  ParallelPlanOptions options;
  options.sharded_inputs = true;
  options.device_memory = memory;
  options.recompute_by = by;
  options.recompute_time = 2;
  options.extract_time = 3;
  auto plan = make_plan(task, machine, options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

std::vector<ir::Tensor> inputs_of(const PlacedGraph& graph) {
  base::Random random(5);
  std::map<std::string, ir::Tensor> by_name;
  std::vector<std::string> order;
  for (const PlacedNode& node : graph.nodes) {
    if (node.kind == PlacedNode::Kind::kInput) order.push_back(node.name);
  }
  std::vector<ir::Tensor> inputs;
  std::ranges::sort(order);
  for (const std::string& name : order) {
    for (const PlacedNode& node : graph.nodes) {
      if (node.name == name && node.kind == PlacedNode::Kind::kInput)
        by_name.try_emplace(name, ir::Tensor::random(node.whole, random));
    }
  }
  for (const PlacedNode& node : graph.nodes) {
    if (node.kind == PlacedNode::Kind::kInput) inputs.push_back(by_name.at(node.name));
  }
  return inputs;
}

void expect_equal_bits(const PlacedGraph& a, const PlacedGraph& b) {
  const auto left = interpret(a, inputs_of(a));
  const auto right = interpret(b, inputs_of(b));
  ASSERT_TRUE(left.ok() && right.ok()) << left.status().message() << right.status().message();
  ASSERT_EQ(left->size(), right->size());
  for (std::size_t k = 0; k < left->size(); ++k)
    EXPECT_EQ((*left)[k].content_hash(), (*right)[k].content_hash()) << a.outputs[k].name;
}

std::size_t computed_again(const PlacedGraph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(
      graph.nodes, [](const PlacedNode& node) { return node.again.has_value(); }));
}

// The least seconds of all orders of the nodes that run, each any number of times, within so many
// bytes besides what is held all the time (Dijkstra over what is in memory); -1: there is none.
double exhaustive(const PlacedGraph& graph, const Cluster& machine, double room) {
  const ProgramPrices prices(graph, machine);
  std::vector<std::size_t> runs;
  std::map<std::size_t, unsigned> bit;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].inputs.empty() || prices.constant()[i]) continue;
    bit[i] = 1U << runs.size();
    runs.push_back(i);
  }
  std::map<std::size_t, double> bytes;
  for (const std::size_t i : runs) bytes[i] = static_cast<double>(graph.nodes[i].type.bytes());
  unsigned wanted = 0;
  for (const auto& output : graph.outputs) wanted |= bit.at(output.node);
  for (const auto& [node, output] : graph.carried) bytes[graph.outputs[output].node] = 0;
  const auto held = [&](unsigned live) {
    double sum = 0;
    for (const std::size_t i : runs) sum += (live & bit[i]) != 0 ? bytes[i] : 0;
    return sum;
  };
  std::map<unsigned, double> best{{0, 0}};
  std::priority_queue<std::pair<double, unsigned>, std::vector<std::pair<double, unsigned>>,
                      std::greater<>>
      open;
  open.emplace(0, 0);
  const auto reach = [&](unsigned live, double cost) {
    const auto [found, is_new] = best.try_emplace(live, cost);
    if (!is_new && found->second <= cost) return;
    found->second = cost;
    open.emplace(cost, live);
  };
  while (!open.empty()) {
    const auto [cost, live] = open.top();
    open.pop();
    if (cost > best.at(live)) continue;
    if ((live & wanted) == wanted) return cost;
    for (const std::size_t i : runs) {
      if ((live & bit[i]) != 0) {
        reach(live & ~bit[i], cost);
        continue;
      }
      bool ready = held(live | bit[i]) <= room;
      for (const std::size_t input : graph.nodes[i].inputs)
        ready = ready && (!bit.contains(input) || (live & bit[input]) != 0);
      if (ready) reach(live | bit[i], cost + *prices.seconds_alone(graph.nodes[i]));
    }
  }
  return -1;
}

TEST(RecomputedProgram, CostsWhatExhaustiveSearchFinds) {
  const ir::Graph graph = there_and_back(4, 512, 8);
  const Cluster machine = machine_of("x=2");
  const ParallelPlan plan = planned(PlanTask{graph}, machine, 0);
  const HeldBytes held = held_bytes(plan.program);
  const double most = peak_bytes(plan.program) - held.fixed;
  int dearer = 0, equal = 0, found = 0;
  double before = 0;
  for (double room = most; room > most / 8; room -= most / 16) {
    SCOPED_TRACE(room);
    const double best = exhaustive(plan.program, machine, room);
    const auto made = recomputed_program(plan.program, machine, held.fixed + room, {.seconds = 5});
    ASSERT_TRUE(made.ok()) << made.status().message();
    if (best < 0) {
      EXPECT_FALSE(made->has_value());
      continue;
    }
    if (before == 0) before = best;  // each once
    if (!*made) continue;
    const RecomputedProgram& again = **made;
    ++found;
    EXPECT_LE(again.memory_bytes, held.fixed + room);
    EXPECT_EQ(again.memory_bytes, peak_bytes(again.program));
    EXPECT_TRUE(check(again.program).ok()) << check(again.program).message();
    EXPECT_GE(again.recomputation.time_s, best - before - 1e-12);
    EXPECT_LE(again.recomputation.bound_s, again.recomputation.time_s + 1e-12);
    equal += again.recomputation.time_s <= best - before + 1e-12 ? 1 : 0;
    dearer += best > before + 1e-12 ? 1 : 0;
    EXPECT_EQ(computed_again(again.program), again.recomputation.computations);
    expect_equal_bits(plan.program, again.program);
  }
  EXPECT_GT(dearer, 1);
  EXPECT_GE(equal, found - 2);
}

TEST(RecomputedProgram, FitsWhereNoPlacementDoes) {
  const ir::TrainingGraph step = deep_step(12);
  const PlanTask task = task_of(step);
  const Cluster machine = machine_of("x=2");
  const ParallelPlan roomy = planned(task, machine, 0);
  const auto limit = static_cast<std::int64_t>(roomy.memory_bytes * 0.72);
  const ParallelPlan without = planned(task, machine, limit, "none");
  EXPECT_GT(without.memory_bytes, without.limit_bytes);
  EXPECT_FALSE(without.recomputation);
  const ParallelPlan plan = planned(task, machine, limit);
  EXPECT_LE(plan.memory_bytes, plan.limit_bytes);
  EXPECT_EQ(plan.memory_bytes, peak_bytes(plan.program));
  EXPECT_EQ(plan.check, PlanCheck::kPassed);
  ASSERT_TRUE(plan.recomputation);
  EXPECT_GT(plan.recomputation->computations, 1U);
  EXPECT_NEAR(plan.time_s, plan.recomputation->placed_time_s + plan.recomputation->time_s, 1e-12);
  EXPECT_GE(plan.recomputation->placed_time_s, roomy.time_s - 1e-12);
  EXPECT_LE(plan.recomputation->bound_s, plan.recomputation->time_s + 1e-12);
  EXPECT_LE(plan.bound_s, plan.time_s * (1 + 1e-9));
  EXPECT_TRUE(plan.program.in_order);

  // Through the file, and what the file may not say.
  const base::Json json = to_json(plan, {.model = "m.onnx", .bind = {}, .machine = "local"});
  const auto weights = [&](const std::string& hash) -> const ir::Tensor* {
    for (const PlacedNode& node : plan.program.nodes) {
      if (node.kind == PlacedNode::Kind::kConstant && node.data.content_hash().to_hex() == hash)
        return &node.data;
    }
    return nullptr;
  };
  const auto read = read_program(json, weights);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->in_order);
  EXPECT_EQ(computed_again(*read), computed_again(plan.program));
  EXPECT_EQ(peak_bytes(*read), plan.memory_bytes);
  expect_equal_bits(*read, plan.program);
  const auto complaint = [&](const std::function<void(PlacedGraph&, std::size_t)>& change) {
    PlacedGraph broken = plan.program;
    std::size_t last = 0;
    for (std::size_t i = 0; i < broken.nodes.size(); ++i) {
      if (broken.nodes[i].again) last = i;
    }
    change(broken, last);
    return check(broken).message();
  };
  EXPECT_THAT(complaint([](PlacedGraph& g, std::size_t) { g.in_order = false; }),
              HasSubstr("without an order"));
  EXPECT_THAT(complaint([](PlacedGraph& g, std::size_t i) { g.nodes[i].again = i; }),
              HasSubstr("must come before it"));
  EXPECT_THAT(complaint([](PlacedGraph& g, std::size_t i) { g.nodes[i].again = 0; }),
              HasSubstr("does not compute the value of node 0 again"));
  EXPECT_THAT(complaint([](PlacedGraph& g, std::size_t i) {
                for (std::size_t k = 0; k < i; ++k) {
                  if (g.nodes[k].again) g.nodes[i].again = k;
                }
              }),
              HasSubstr("is one that computes again"));
}

// Values leave for storage where that is cheaper than computing them again: the faster the storage,
// the more of them do, and none where it is slow.
TEST(RecomputedProgram, CopiesValuesToStorageWhereThatIsCheaper) {
  const ir::TrainingGraph step = deep_step(12);
  const PlanTask task = task_of(step);
  const Cluster machine = machine_of("x=2");
  const ParallelPlan roomy = planned(task, machine, 0);
  const double limit = roomy.memory_bytes * 0.72;
  const auto within = [&](double rate) {
    auto made = recomputed_program(roomy.program, machine, limit,
                                   {.seconds = 2, .storage_bytes_per_second = rate});
    EXPECT_TRUE(made.ok() && made->has_value()) << rate;
    return **std::move(made);
  };
  const RecomputedProgram without = within(0), slow = within(1), fast = within(1e13);
  EXPECT_EQ(slow.recomputation.copies, 0U);
  EXPECT_EQ(slow.program.storage_bytes_per_second, 0);
  EXPECT_NEAR(slow.recomputation.time_s, without.recomputation.time_s,
              0.05 * without.recomputation.time_s);
  EXPECT_GT(fast.recomputation.copies, 0U);
  EXPECT_EQ(fast.program.storage_bytes_per_second, 1e13);
  EXPECT_LT(fast.recomputation.time_s, 0.5 * without.recomputation.time_s);
  EXPECT_LE(fast.memory_bytes, limit);
  EXPECT_EQ(fast.memory_bytes, peak_bytes(fast.program));
  EXPECT_TRUE(check(fast.program).ok()) << check(fast.program).message();
  expect_equal_bits(roomy.program, fast.program);

  ParallelPlan plan = roomy;
  plan.program = fast.program;
  plan.recomputation = fast.recomputation;
  const base::Json json = to_json(plan, {.model = "m.onnx", .bind = {}, .machine = "local"});
  const auto weights = [&](const std::string& hash) -> const ir::Tensor* {
    for (const PlacedNode& node : plan.program.nodes) {
      if (node.kind == PlacedNode::Kind::kConstant && node.data.content_hash().to_hex() == hash)
        return &node.data;
    }
    return nullptr;
  };
  const auto read = read_program(json, weights);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(peak_bytes(*read), fast.memory_bytes);
  EXPECT_EQ(read->storage_bytes_per_second, 1e13);
  const auto simulated = simulate_plan(*read, machine, 0);
  ASSERT_TRUE(simulated.ok()) << simulated.status().message();
  EXPECT_GT(simulated->seconds(), simulate_plan(roomy.program, machine, 0)->seconds());
  const auto complaint = [&](const std::function<void(PlacedGraph&, PlacedNode&)>& change) {
    PlacedGraph broken = fast.program;
    for (PlacedNode& node : broken.nodes) {
      if (node.kind != PlacedNode::Kind::kBack) continue;
      change(broken, node);
      break;
    }
    return check(broken).message();
  };
  EXPECT_THAT(complaint([](PlacedGraph& g, PlacedNode&) { g.storage_bytes_per_second = 0; }),
              HasSubstr("and a rate"));
  EXPECT_THAT(complaint([](PlacedGraph&, PlacedNode& node) { node.again.reset(); }),
              HasSubstr("needs the node that it copies"));
  EXPECT_THAT(complaint([](PlacedGraph&, PlacedNode& node) { node.inputs = {0}; }),
              HasSubstr("does not copy back"));
  EXPECT_THAT(complaint([](PlacedGraph&, PlacedNode& node) { node.again = *node.again - 1; }),
              HasSubstr("does not copy back"));
}

// Whatever the limit: a plan that fits with `none` fits, and takes no longer.
TEST(RecomputedProgram, IsNeverWorseThanPlacementsAlone) {
  const ir::TrainingGraph step = deep_step(8, 4096, 16);
  const PlanTask task = task_of(step);
  const Cluster machine = machine_of("x=2");
  const ParallelPlan roomy = planned(task, machine, 0);
  int faster = 0, fits_only = 0;
  for (const double share : {0.85, 0.65}) {
    SCOPED_TRACE(share);
    const auto limit = static_cast<std::int64_t>(roomy.memory_bytes * share);
    const ParallelPlan without = planned(task, machine, limit, "none");
    const ParallelPlan plan = planned(task, machine, limit);
    EXPECT_FALSE(is_better(without, plan));
    EXPECT_EQ(plan.check, PlanCheck::kPassed);
    const bool fitted = without.memory_bytes <= without.limit_bytes;
    const bool fits = plan.memory_bytes <= plan.limit_bytes;
    EXPECT_TRUE(fits || !fitted);
    fits_only += fits && !fitted ? 1 : 0;
    faster += fits && fitted && plan.time_s < without.time_s * (1 - 1e-9) ? 1 : 0;
  }
  EXPECT_GT(faster + fits_only, 0);
}

// On machines that fuse, operators of one kernel run again together.
TEST(RecomputedProgram, KernelsRunAgainAsAWhole) {
  const ir::TrainingGraph step = deep_step(8, 4096, 16);
  const PlanTask task = task_of(step);
  Cluster fusing = machine_of("x=2");
  fusing.fuses = true;
  const ParallelPlan roomy = planned(task, fusing, 0);
  const auto limit = static_cast<std::int64_t>(roomy.memory_bytes * 0.7);
  const auto made =
      recomputed_program(roomy.program, fusing, static_cast<double>(limit), {.seconds = 3});
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_TRUE(made->has_value());
  EXPECT_LE((*made)->memory_bytes, static_cast<double>(limit));
  EXPECT_GT((*made)->recomputation.computations, 0U);
  EXPECT_GE(computed_again((*made)->program), (*made)->recomputation.computations);
  expect_equal_bits(roomy.program, (*made)->program);
}

}  // namespace
}  // namespace egret::parallel

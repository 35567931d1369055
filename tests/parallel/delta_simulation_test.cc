// SPDX-License-Identifier: Apache-2.0
// A delta simulation computes what a full one does, to the last bit.
#include <gtest/gtest.h>

#include "parallel/simulator/event_simulator.h"
#include "tests/parallel/random_tasks.h"

namespace egret::parallel {
namespace {

// Changes one to three tasks, CHANGES times, and compares with a full simulation each time.
void compare(const RandomTasks& shape, double slowdown, int changes, std::uint64_t seed) {
  base::Random random(seed);
  const TaskGraph graph = random_tasks(shape, random);
  EventSimulator delta = std::move(EventSimulator::make(graph, slowdown)).value();
  EventSimulator full = std::move(EventSimulator::make(graph, slowdown)).value();
  ASSERT_TRUE(delta.run().ok());
  for (int change = 0; change < changes; ++change) {
    const std::vector<TaskSpan> former = delta.timeline().spans;
    std::vector<std::pair<TaskId, TaskWork>> works;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
      const TaskId id(random.below(graph.size()));
      works.emplace_back(id, delta.graph().task(id).work);
      const TaskWork work = random_change(works.back().second, random);
      delta.change(id, work);
      full.change(id, work);
    }
    ASSERT_TRUE(delta.update().ok());
    ASSERT_TRUE(full.run().ok());
    for (std::size_t i = 0; i < graph.size(); ++i) {
      ASSERT_EQ(delta.timeline().spans[i].start_s, full.timeline().spans[i].start_s)
          << "seed " << seed << ", change " << change << ", task " << i;
      ASSERT_EQ(delta.timeline().spans[i], full.timeline().spans[i])
          << "seed " << seed << ", change " << change << ", task " << i;
    }
    ASSERT_EQ(delta.timeline().end_s, full.timeline().end_s);
    if (random.chance(0.3)) {
      delta.undo();
      ASSERT_EQ(delta.timeline().spans, former);
      for (std::size_t w = works.size(); w-- > 0;) full.change(works[w].first, works[w].second);
    }
  }
}

TEST(DeltaSimulation, EqualsFullSimulationOnTenThousandChanges) {
  std::uint64_t seed = 0;
  for (const double slowdown : {0.0, 0.3}) {
    for (const std::size_t tasks : {12, 40, 150}) {
      for (const bool own : {false, true}) {
        for (int graph = 0; graph < 40; ++graph) {
          compare({.tasks = tasks, .private_links = own}, slowdown, 21, ++seed);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_EQ(seed * 21, 10'080);
}

TEST(DeltaSimulation, EqualsFullSimulationOfManyDevices) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    compare({.devices = 64, .tasks = 4000, .links = 64, .reach = 300}, 0.1, 40, seed);
}

TEST(DeltaSimulation, SimulatesOnlyWhatChanges) {
  TaskGraph graph;
  const auto add = [&](std::uint32_t device, double seconds, std::vector<TaskId> after) {
    return graph.add({.device = device,
                      .effect = TaskEffect::kComputes,
                      .work = {.seconds = seconds},
                      .after = std::move(after)});
  };
  const TaskId first = add(0, 1, {});
  const TaskId other = add(1, 5, {});
  TaskId last = add(1, 1, {first, other});
  for (int i = 0; i < 100; ++i) last = add(1, 1, {last});
  EventSimulator simulator = std::move(EventSimulator::make(graph)).value();
  ASSERT_TRUE(simulator.run().ok());
  EXPECT_EQ(simulator.simulated_tasks(), graph.size());
  simulator.change(first, {.seconds = 4});  // still before `other` ends
  ASSERT_TRUE(simulator.update().ok());
  EXPECT_EQ(simulator.simulated_tasks(), 1);
  simulator.change(first, {.seconds = 6});
  ASSERT_TRUE(simulator.update().ok());
  EXPECT_EQ(simulator.simulated_tasks(), graph.size() - 1);
  EXPECT_EQ(simulator.timeline().end_s, 107);
}

}  // namespace
}  // namespace egret::parallel

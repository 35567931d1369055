// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/event_simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/stop.h"
#include "parallel/simulator/max_min_rates.h"
#include "tests/parallel/random_tasks.h"

namespace egret::parallel {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

EventSimulator simulated(TaskGraph graph, double slowdown = 0) {
  EventSimulator simulator = std::move(EventSimulator::make(std::move(graph), slowdown)).value();
  EXPECT_TRUE(simulator.run().ok());
  return simulator;
}

SimulatedTask compute(std::uint32_t device, double seconds, std::vector<TaskId> after = {}) {
  return {.device = device,
          .effect = TaskEffect::kComputes,
          .work = {.seconds = seconds},
          .after = std::move(after)};
}

SimulatedTask flow(std::uint32_t device, std::uint32_t stream, double bytes,
                   std::vector<LinkId> links, double limit = 0) {
  return {.device = device,
          .stream = stream,
          .effect = TaskEffect::kCommunicates,
          .work = {.bytes = bytes, .most_bytes_per_second = limit},
          .links = std::move(links)};
}

TEST(MaxMinRates, FollowTheTextbook) {
  // Bertsekas and Gallager's shape: one flow over both links, one and two over each alone.
  const std::vector<double> capacities = {12, 10};
  const LinkId a(0), b(1);
  const std::vector<std::vector<LinkId>> over = {{a, b}, {a}, {b}, {b}};
  std::vector<FairFlow> flows;
  for (const auto& links : over) flows.push_back({links, 0});
  MaxMinRates rates(capacities);
  const double third = 10.0 / 3;
  EXPECT_THAT(rates(flows),
              ElementsAre(DoubleEq(third), DoubleEq(12 - third), DoubleEq(third), DoubleEq(third)));
  flows[2].limit = 1;
  EXPECT_THAT(rates(flows), ElementsAre(4.5, 7.5, 1, 4.5));
}

// The definition: each flow is at its limit, or has a full link on which no flow is faster.
TEST(MaxMinRates, NoFlowCanGainWithoutTakingFromASlowerOne) {
  base::Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> capacities(1 + random.below(6));
    for (double& capacity : capacities) capacity = random.uniform(1, 10);
    std::vector<std::vector<LinkId>> over(1 + random.below(9));
    std::vector<FairFlow> flows;
    for (auto& links : over) {
      for (std::size_t l = 0; l < capacities.size(); ++l)
        if (random.chance(0.4)) links.emplace_back(l);
      if (links.empty()) links.emplace_back(0);
      flows.push_back({links, random.chance(0.4) ? random.uniform(0.2, 4) : 0});
    }
    MaxMinRates solver(capacities);
    const std::vector<double>& rates = solver(flows);
    std::vector<double> sums(capacities.size(), 0), fastest(capacities.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const LinkId link : over[f]) {
        sums[link.index()] += rates[f];
        fastest[link.index()] = std::max(fastest[link.index()], rates[f]);
      }
    }
    for (std::size_t l = 0; l < capacities.size(); ++l)
      EXPECT_LE(sums[l], capacities[l] * (1 + 1e-9));
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const bool limited = flows[f].limit > 0 && rates[f] >= flows[f].limit;
      const bool bottlenecked = std::any_of(over[f].begin(), over[f].end(), [&](LinkId link) {
        return sums[link.index()] >= capacities[link.index()] * (1 - 1e-9) &&
               rates[f] >= fastest[link.index()] * (1 - 1e-9);
      });
      EXPECT_TRUE(limited || bottlenecked) << "trial " << trial << ", flow " << f;
    }
  }
}

TEST(EventSimulator, RunsTheTasksOfALaneInOrder) {
  TaskGraph graph;
  const TaskId a = graph.add(compute(0, 2));
  const TaskId b = graph.add(compute(0, 3));
  const TaskId c = graph.add(compute(1, 1, {a}));
  const TaskId d = graph.add(compute(1, 1, {b, c}));
  const EventSimulator simulator = simulated(std::move(graph));
  const auto& spans = simulator.timeline().spans;
  EXPECT_EQ(spans[b.index()].start_s, 2);
  EXPECT_EQ(spans[c.index()].start_s, 2);
  EXPECT_EQ(spans[d.index()].start_s, 5);
  EXPECT_EQ(simulator.timeline().end_s, 6);
}

TEST(EventSimulator, SharesALinkBetweenFlows) {
  TaskGraph graph;
  const LinkId link = graph.add_link(10);
  const TaskId longer = graph.add(flow(0, 0, 60, {link}));
  SimulatedTask later = flow(1, 0, 20, {link});
  later.work.seconds = 2;  // a latency
  const TaskId shorter = graph.add(std::move(later));
  const EventSimulator simulator = simulated(std::move(graph));
  // 2 s alone at 10, then 4 s at 5 beside the other, then the last 20 bytes alone.
  EXPECT_EQ(simulator.timeline().spans[shorter.index()].end_s, 6);
  EXPECT_EQ(simulator.timeline().spans[longer.index()].end_s, 8);
}

TEST(EventSimulator, SlowsComputationBesideCommunication) {
  TaskGraph graph;
  const LinkId link = graph.add_link(10);
  const TaskId work = graph.add(compute(0, 4));
  SimulatedTask exchange = flow(0, 1, 30, {link});
  exchange.work.seconds = 1;
  graph.add(std::move(exchange));
  const EventSimulator simulator = simulated(std::move(graph), 0.5);
  // The exchange is active for its latency and its flow, 4 s; 8/3 s of the work are done by then.
  EXPECT_DOUBLE_EQ(simulator.timeline().spans[work.index()].end_s, 4 + (4 - 4 / 1.5));
}

TEST(EventSimulator, NamesTasksThatWaitForEachOther) {
  TaskGraph graph;
  const TaskId a = graph.add(compute(0, 1));
  const TaskId b = graph.add(compute(1, 1, {a}));
  graph.add_dependency(a, b);
  const auto result = EventSimulator::make(std::move(graph));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), base::StatusCode::kInternal);
  EXPECT_THAT(result.status().message(), HasSubstr("wait for each other"));
}

TEST(EventSimulator, StopsOnRequest) {
  base::Random random(1);
  auto simulator = EventSimulator::make(random_tasks({.tasks = 20'000}, random));
  base::request_stop(15);
  const base::Status status = simulator->run();
  base::request_stop(0);
  EXPECT_EQ(status.code(), base::StatusCode::kLimit);
  EXPECT_TRUE(simulator->run().ok());
}

// Bytes that a span's segments carry; a flow's last segment lasts until its end.
double bytes_of(const TaskSpan& span) {
  double bytes = 0;
  for (std::size_t s = 0; s < span.segments.size(); ++s) {
    const double until = s + 1 < span.segments.size() ? span.segments[s + 1].since : span.end_s;
    bytes += span.segments[s].rate * (until - span.segments[s].since);
  }
  return bytes;
}

// Most bytes per second on a link at any time.
double busiest(const EventSimulator& simulator, LinkId link) {
  std::map<double, double> change;
  for (std::size_t i = 0; i < simulator.graph().size(); ++i) {
    const auto& links = simulator.graph().tasks()[i].links;
    if (std::find(links.begin(), links.end(), link) == links.end()) continue;
    const TaskSpan& span = simulator.timeline().spans[i];
    for (std::size_t s = 0; s < span.segments.size(); ++s) {
      const double until = s + 1 < span.segments.size() ? span.segments[s + 1].since : span.end_s;
      change[span.segments[s].since] += span.segments[s].rate;
      change[until] -= span.segments[s].rate;
    }
  }
  double most = 0, sum = 0;
  for (const auto& [time, step] : change) most = std::max(most, sum += step);
  return most;
}

TEST(EventSimulator, KeepsItsInvariantsOnRandomGraphs) {
  base::Random random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const double slowdown = trial % 2 == 0 ? 0.25 : 0;
    const EventSimulator simulator = simulated(random_tasks({}, random), slowdown);
    const auto tasks = simulator.graph().tasks();
    const auto& spans = simulator.timeline().spans;
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> lane_end;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const SimulatedTask& task = tasks[i];
      double ready = 0;
      for (const TaskId on : task.after) ready = std::max(ready, spans[on.index()].end_s);
      double& before = lane_end[{task.device, task.stream}];
      // Not before, which would overlap, and not after, which would waste time.
      EXPECT_EQ(spans[i].start_s, std::max(ready, before));
      before = spans[i].end_s;
      if (task.work.bytes > 0) {
        EXPECT_NEAR(bytes_of(spans[i]), task.work.bytes, 1e-9 * task.work.bytes);
        EXPECT_DOUBLE_EQ(spans[i].send_s, spans[i].start_s + task.work.seconds);
      } else if (task.effect == TaskEffect::kComputes && !spans[i].segments.empty()) {
        EXPECT_NEAR(bytes_of(spans[i]), task.work.seconds, 1e-9);
      } else {
        EXPECT_EQ(spans[i].end_s, spans[i].start_s + task.work.seconds);
      }
    }
    for (std::size_t l = 0; l < simulator.graph().links().size(); ++l)
      EXPECT_LE(busiest(simulator, LinkId(l)), simulator.graph().links()[l] * (1 + 1e-9));
  }
}

TEST(EventSimulator, RunsTheSameTwice) {
  base::Random random(3);
  EventSimulator simulator = simulated(random_tasks({.tasks = 400}, random), 0.1);
  const std::vector<TaskSpan> first = simulator.timeline().spans;
  ASSERT_TRUE(simulator.run().ok());
  EXPECT_EQ(simulator.timeline().spans, first);
}

// The theorem of event_simulator.h: lanes have links of their own, and nothing slows down.
TEST(EventSimulator, NeverEndsLaterWithMoreBandwidthWhereLinksAreNotShared) {
  base::Random random(17);
  for (int trial = 0; trial < 200; ++trial) {
    TaskGraph graph = random_tasks({.private_links = true}, random);
    const EventSimulator slow = simulated(graph);
    for (double& link : graph.links())
      if (random.chance(0.3)) link *= random.uniform(1, 3);
    const EventSimulator fast = simulated(graph);
    for (std::size_t i = 0; i < graph.size(); ++i)
      EXPECT_LE(fast.timeline().spans[i].end_s, slow.timeline().spans[i].end_s * (1 + 1e-12));
  }
}

// Why the theorem needs its conditions: a faster link lets a flow start that takes bandwidth from a
// more urgent one.
TEST(EventSimulator, MayEndLaterWithMoreBandwidthWhereLinksAreShared) {
  const auto end = [](double rate_of_first) {
    TaskGraph graph;
    const LinkId first = graph.add_link(rate_of_first), shared = graph.add_link(10);
    const TaskId fed = graph.add(flow(0, 0, 100, {first}));
    SimulatedTask filler = flow(0, 1, 100, {shared});
    filler.after = {fed};
    graph.add(std::move(filler));
    const TaskId urgent = graph.add(flow(1, 0, 100, {shared}));
    graph.add(compute(1, 50, {urgent}));
    return simulated(std::move(graph)).timeline().end_s;
  };
  EXPECT_GT(end(20), end(10));
}

}  // namespace
}  // namespace egret::parallel

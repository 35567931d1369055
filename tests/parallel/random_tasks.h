// SPDX-License-Identifier: Apache-2.0
// Random task graphs and random local changes, for tests of the event simulator.
#pragma once

#include "base/random.h"
#include "parallel/simulator/event_simulator.h"

namespace egret::parallel {

struct RandomTasks {
  std::uint32_t devices = 4;
  std::uint32_t streams = 3;  // the first computes, the second communicates
  std::size_t tasks = 60;
  std::size_t links = 5;
  bool private_links = false;  // one for each lane, which no other uses
  double reach = 20;           // dependencies go back so many tasks
};

inline TaskGraph random_tasks(const RandomTasks& shape, base::Random& random) {
  TaskGraph graph;
  const std::size_t lanes = shape.devices * shape.streams;
  for (std::size_t l = 0; l < (shape.private_links ? lanes : shape.links); ++l)
    graph.add_link(static_cast<double>(random.between(1, 8)));
  for (std::size_t i = 0; i < shape.tasks; ++i) {
    SimulatedTask task;
    task.device = static_cast<std::uint32_t>(random.below(shape.devices));
    task.stream = static_cast<std::uint32_t>(random.below(shape.streams));
    // Whole numbers make many events coincide.
    task.work.seconds = random.chance(0.5) ? static_cast<double>(random.below(4)) : random.unit();
    if (task.stream == 0) {
      task.effect = TaskEffect::kComputes;
    } else {
      if (task.stream == 1) task.effect = TaskEffect::kCommunicates;
      if (random.chance(0.7)) {
        task.work.bytes = static_cast<double>(random.between(1, 12));
        if (random.chance(0.3)) task.work.most_bytes_per_second = random.uniform(0.5, 4);
        if (shape.private_links) {
          task.links = {LinkId(task.device * shape.streams + task.stream)};
        } else {
          const std::size_t first = random.below(shape.links);
          task.links = {LinkId(first)};
          const std::size_t second = random.below(shape.links);
          if (second != first) task.links.emplace_back(second);
        }
      }
    }
    for (std::uint64_t n = random.below(3); n > 0 && i > 0; --n) {
      const auto back =
          random.below(std::min<std::uint64_t>(i, static_cast<std::uint64_t>(shape.reach)));
      task.after.emplace_back(i - 1 - back);
    }
    graph.add(std::move(task));
  }
  return graph;
}

// Another duration, or another algorithm of a flow.
inline TaskWork random_change(TaskWork work, base::Random& random) {
  const bool whole = random.chance(0.5);
  work.seconds =
      whole ? static_cast<double>(random.below(5)) : work.seconds * random.uniform(0.3, 2);
  if (work.bytes > 0 && random.chance(0.7)) {
    work.bytes = whole ? static_cast<double>(random.between(1, 15)) : work.bytes * 1.3;
    work.most_bytes_per_second = random.chance(0.5) ? 0 : random.uniform(0.5, 4);
  }
  return work;
}

}  // namespace egret::parallel

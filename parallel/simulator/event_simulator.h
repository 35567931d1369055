// SPDX-License-Identifier: Apache-2.0
// Discrete events: devices with streams, hosts that issue work, and links that flows share.
//
// - A device has a program: its tasks, in the order in which its host issues them. The host issues
//   task after task; one with host_waits holds it until that task has ended.
// - A task starts when the host has issued it, the tasks in `after` have ended, and the task before
//   it on the same stream has ended.
// - A task takes `seconds`, then sends `bytes` over its links. Flows share links by max-min
//   fairness: no flow can get more without taking from one that has no more.
// - A task that computes takes longer by the factor 1 + overlap_slowdown while another stream of
//   its device is active.
//
// Invariants of a timeline: tasks of one stream do not overlap; no link carries more than its rate;
// each task ends after those that it waits for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/status.h"

namespace egret::parallel {

using TaskId = base::Id<struct SimulatedTaskTag>;
using LinkId = base::Id<struct SimulatedLinkTag>;

struct SimulatedTask {
  std::string name;
  std::size_t device = 0;
  std::size_t stream = 0;
  bool computes = false;
  double seconds = 0;  // before bytes are sent
  double host_s = 0;   // to issue it
  double tail_s = 0;   // it ends this long after the host began to issue it, or later
  bool host_waits = false;
  double bytes = 0;
  double most_bytes_per_second = 0;  // of its flow; 0: only the links bound it
  std::vector<LinkId> links;
  std::vector<TaskId> after;
};

struct TaskSpan {
  double start_s = 0;
  double end_s = 0;
};

struct Timeline {
  std::vector<TaskSpan> spans;  // by task
  double end_s = 0;
  std::int64_t events = 0;
};

class EventSimulator {
 public:
  explicit EventSimulator(double overlap_slowdown = 0) : slowdown_(overlap_slowdown) {}

  LinkId add_link(double bytes_per_second);
  // Appends to the program of its device. `after` may name tasks that are added later.
  TaskId add(SimulatedTask task);
  // For dependencies that are known only later.
  void add_dependency(TaskId task, TaskId on);

  std::size_t size() const { return tasks_.size(); }
  const SimulatedTask& task(TaskId id) const { return tasks_[id.index()]; }

  // O((tasks + dependencies) log tasks + flows' starts and ends x active flows).
  // Errors: internal, where tasks wait for each other.
  base::Result<Timeline> run() const;

 private:
  double slowdown_;
  std::vector<double> links_;
  std::vector<SimulatedTask> tasks_;
};

// Max-min fair rates of flows: links' capacities, each flow's links and its own limit (0: none).
// O(links x flows) in the worst case.
struct FairFlow {
  const std::vector<LinkId>* links;
  double limit;
};
std::vector<double> max_min_rates(const std::vector<double>& capacities,
                                  const std::vector<FairFlow>& flows);

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
// Work on devices with streams and links, as the event simulator runs it.
//
// - A lane is one stream of one device. Its tasks run one after another, in the order of add().
//   The order is fixed, so the anomalies of list scheduling (Graham, "Bounds on Multiprocessing
//   Timing Anomalies", 1969) cannot occur: no early end lets a task overtake another.
// - A task starts as soon as the tasks in `after`, and the task before it on its lane, have ended.
// - It takes `seconds`, then it sends `bytes` over its links. Flows share links by max-min
// fairness:
//   no flow can get more without taking from one that has no more.
// - A task that computes runs at 1 / (1 + overlap_slowdown) of its speed while a task that
//   communicates is active on its device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/id.h"
#include "base/status.h"

namespace egret::parallel {

using TaskId = base::Id<struct SimulatedTaskTag>;
using LinkId = base::Id<struct SimulatedLinkTag>;

enum class TaskEffect : unsigned char { kNone, kComputes, kCommunicates };

// The part of a task that may change after the graph is built.
struct TaskWork {
  double seconds = 0;
  double bytes = 0;
  double most_bytes_per_second = 0;  // of its flow; 0: only the links bound it

  friend bool operator==(const TaskWork&, const TaskWork&) = default;
};

struct SimulatedTask {
  std::uint32_t device = 0;
  std::uint32_t stream = 0;
  TaskEffect effect = TaskEffect::kNone;
  TaskWork work = {};
  std::vector<LinkId> links = {};
  std::vector<TaskId> after = {};
};

class TaskGraph {
 public:
  LinkId add_link(double bytes_per_second);
  // Appends to the lane of its device and stream. `after` may name tasks that are added later.
  TaskId add(SimulatedTask task);
  void add_dependency(TaskId task, TaskId on) { tasks_[task.index()].after.push_back(on); }

  std::size_t size() const { return tasks_.size(); }
  SimulatedTask& task(TaskId id) { return tasks_[id.index()]; }
  const SimulatedTask& task(TaskId id) const { return tasks_[id.index()]; }
  std::span<const SimulatedTask> tasks() const { return tasks_; }
  const std::vector<double>& links() const { return links_; }
  std::vector<double>& links() { return links_; }

 private:
  std::vector<SimulatedTask> tasks_;
  std::vector<double> links_;  // bytes per second
};

// Lists of task numbers of varying length, in one array.
class TaskLists {
 public:
  TaskLists() : first_{0} {}
  // From pairs (list, task), which keep their order within a list.
  TaskLists(std::size_t lists, std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs);

  std::span<const std::uint32_t> operator[](std::size_t list) const {
    return {tasks_.data() + first_[list], first_[list + 1] - first_[list]};
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> tasks_;
};

// Tasks of one lane that matter to a link or a device, in the order of the lane. Their spans are
// disjoint and ascending.
struct LaneTasks {
  std::vector<std::uint32_t> tasks;
};

// What a run needs beside the tasks themselves.
struct TaskGraphIndex {
  TaskLists before, followers;                     // by task: dependencies and the order of lanes
  std::vector<std::uint32_t> order;                // by task: its place in a topological order
  std::vector<std::uint32_t> sorted;               // tasks by that order
  std::vector<std::vector<LaneTasks>> link_lanes;  // by link: flows over it
  std::vector<std::vector<LaneTasks>> communicating_lanes;  // by device
  std::vector<std::vector<LaneTasks>> computing_lanes;      // by device
  std::vector<std::uint32_t> last_of_lane;

  // Errors: internal, where tasks wait for each other. O((tasks + dependencies) log lanes).
  static base::Result<TaskGraphIndex> make(const TaskGraph& graph);
};

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/task_graph.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"

namespace egret::parallel {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using LaneNumbers = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

// Kahn's algorithm; the tasks that are ready are taken in the order of their numbers' arrival.
base::Status sort(const TaskLists& before, const TaskLists& followers, TaskGraphIndex& index) {
  const std::size_t count = index.order.size();
  std::vector<std::uint32_t> missing(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    missing[i] = static_cast<std::uint32_t>(before[i].size());
    if (missing[i] == 0) index.sorted.push_back(i);
  }
  for (std::size_t i = 0; i < index.sorted.size(); ++i) {
    index.order[index.sorted[i]] = static_cast<std::uint32_t>(i);
    for (const std::uint32_t next : followers[index.sorted[i]]) {
      if (--missing[next] == 0) index.sorted.push_back(next);
    }
  }
  if (index.sorted.size() == count) return base::ok();
  const auto stuck = std::find_if(missing.begin(), missing.end(), [](auto n) { return n > 0; });
  return base::internal_error("simulated tasks wait for each other, task " +
                              std::to_string(stuck - missing.begin()) + " among them");
}

// The LaneTasks of LANE at the end of LANES, which is made for the first task of a lane.
class LaneCollector {
 public:
  explicit LaneCollector(std::size_t owners) : result(owners), place_(owners) {}

  void add(std::size_t owner, std::uint32_t lane, std::uint32_t task) {
    const auto [found, fresh] = place_[owner].try_emplace(lane, result[owner].size());
    if (fresh) result[owner].emplace_back();
    result[owner][found->second].tasks.push_back(task);
  }

  std::vector<std::vector<LaneTasks>> result;

 private:
  std::vector<std::map<std::uint32_t, std::size_t>> place_;
};

}  // namespace

LinkId TaskGraph::add_link(double bytes_per_second) {
  EGRET_CHECK(bytes_per_second > 0, "a link has a rate");
  links_.push_back(bytes_per_second);
  return LinkId(links_.size() - 1);
}

TaskId TaskGraph::add(SimulatedTask task) {
  EGRET_CHECK(task.effect != TaskEffect::kComputes || task.work.bytes == 0,
              "a task computes or sends");
  tasks_.push_back(std::move(task));
  return TaskId(tasks_.size() - 1);
}

TaskLists::TaskLists(std::size_t lists,
                     std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs)
    : first_(lists + 1, 0), tasks_(pairs.size()) {
  for (const auto& [list, task] : pairs) ++first_[list + 1];
  for (std::size_t i = 0; i < lists; ++i) first_[i + 1] += first_[i];
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const auto& [list, task] : pairs) tasks_[next[list]++] = task;
}

base::Result<TaskGraphIndex> TaskGraphIndex::make(const TaskGraph& graph) {
  TaskGraphIndex index;
  const std::span<const SimulatedTask> tasks = graph.tasks();
  std::uint32_t devices = 0;
  for (const SimulatedTask& task : tasks) devices = std::max(devices, task.device + 1);
  LaneNumbers numbers;
  Pairs before, followers;
  std::vector<std::uint32_t> depends_on;
  LaneCollector flows(graph.links().size()), communicating(devices), computing(devices);
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    const SimulatedTask& task = tasks[i];
    depends_on.clear();
    for (const TaskId on : task.after) {
      EGRET_CHECK(on.index() < tasks.size(), "a dependency names no task");
      depends_on.push_back(on.index());
    }
    const auto next = static_cast<std::uint32_t>(numbers.size());
    const auto [found, fresh] = numbers.try_emplace({task.device, task.stream}, next);
    const std::uint32_t lane = found->second;
    if (fresh) {
      index.last_of_lane.push_back(i);
    } else {
      depends_on.push_back(std::exchange(index.last_of_lane[lane], i));
    }
    std::sort(depends_on.begin(), depends_on.end());
    depends_on.erase(std::unique(depends_on.begin(), depends_on.end()), depends_on.end());
    for (const std::uint32_t on : depends_on) {
      before.emplace_back(i, on);
      followers.emplace_back(on, i);
    }
    if (task.work.bytes > 0) {
      for (const LinkId link : task.links) flows.add(link.index(), lane, i);
    }
    if (task.effect == TaskEffect::kComputes) computing.add(task.device, lane, i);
    if (task.effect == TaskEffect::kCommunicates) communicating.add(task.device, lane, i);
  }
  index.before = TaskLists(tasks.size(), before);
  index.followers = TaskLists(tasks.size(), followers);
  index.order.resize(tasks.size());
  index.link_lanes = std::move(flows.result);
  index.communicating_lanes = std::move(communicating.result);
  index.computing_lanes = std::move(computing.result);
  EGRET_RETURN_IF_ERROR(sort(index.before, index.followers, index));
  return index;
}

}  // namespace egret::parallel

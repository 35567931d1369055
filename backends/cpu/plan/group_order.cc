// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/group_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "backends/cpu/loops/pointwise_program.h"

namespace egret::backends::cpu {
namespace {

constexpr std::size_t kWidth = 48;  // width of the beam

// The memory behaviour of a group: its value and the values that it reads.
struct Task {
  std::int64_t bytes = 0;               // of its value
  std::vector<std::size_t> inputs{};    // tasks, each once
  std::vector<std::size_t> in_place{};  // inputs whose memory its value may reuse
  std::size_t readers = 0;
  bool kept = false;  // an output of the graph, which has memory of its own
};

// The tasks: an input may be overwritten in place if only pointwise nodes of the group read it.
std::vector<Task> tasks_of(const ir::Graph& graph, const std::vector<Group>& groups) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> maker(graph.size(), kNone);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (const ir::NodeId id : groups[i].nodes) maker[id.index()] = i;
  }
  std::vector<Task> tasks(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Task& task = tasks[i];
    task.bytes = graph.node(groups[i].root()).type.bytes();
    for (const ir::NodeId id : groups[i].nodes) {
      // A product or a convolution reads inputs many times while it writes. Pointwise nodes read
      // each element before they write it.
      const bool computes = id == groups[i].anchor() && !is_pointwise(graph, id);
      for (const ir::NodeId input : graph.node(id).inputs) {
        const std::size_t from = maker[input.index()];
        if (from == kNone || from == i || std::ranges::count(task.inputs, from) > 0) continue;
        task.inputs.push_back(from);
        ++tasks[from].readers;
        if (!computes) task.in_place.push_back(from);
      }
    }
  }
  for (const auto& output : graph.outputs()) {
    if (maker[output.node.index()] != kNone) tasks[maker[output.node.index()]].kept = true;
  }
  return tasks;
}

// A prefix of an order, with its peak and its live bytes.
struct Partial {
  std::int64_t peak = 0;
  std::int64_t live = 0;
  std::vector<bool> done{};
  std::vector<std::size_t> unread{};  // by task: readers that are not done
  std::vector<std::size_t> order{};
};

bool is_ready(const Partial& partial, const Task& task) {
  return std::ranges::all_of(task.inputs, [&](std::size_t i) { return partial.done[i]; });
}

// The prefix extended by one ready task. An input dies with its last reader.
Partial with(const Partial& before, const std::vector<Task>& tasks, std::size_t next) {
  Partial after = before;
  const Task& task = tasks[next];
  // Graph outputs lie in the caller's memory and take no space in the arena.
  const std::int64_t own = task.kept ? 0 : task.bytes;
  std::int64_t freed = 0, reused = 0;
  for (const std::size_t input : task.inputs) {
    if (--after.unread[input] > 0 || tasks[input].kept) continue;
    freed += tasks[input].bytes;
    if (tasks[input].bytes == own && std::ranges::count(task.in_place, input) > 0) reused = own;
  }
  // The value and all inputs are live during the step, unless the value overwrites an input of its
  // size.
  after.peak = std::max(after.peak, before.live + own - reused);
  after.live = before.live + own - freed;
  if (task.readers == 0) after.live -= own;
  after.done[next] = true;
  after.order.push_back(next);
  return after;
}

Partial start(const std::vector<Task>& tasks) {
  Partial partial;
  partial.done.resize(tasks.size(), false);
  for (const Task& task : tasks) partial.unread.push_back(task.readers);
  return partial;
}

bool is_better(const Partial& a, const Partial& b) {
  if (a.peak != b.peak) return a.peak < b.peak;
  return a.live != b.live ? a.live < b.live : a.order < b.order;
}

// Beam search over orders. Prefixes with the same set of tasks have the same live bytes and differ
// only in their peak, so the best one of each set is kept; then the kWidth best go on.
Partial searched(const std::vector<Task>& tasks) {
  std::vector<Partial> beam{start(tasks)};
  // Each round extends all prefixes by one task. With n tasks there are n rounds, at most kWidth
  // prefixes a round and n extensions of each, and copying a prefix costs O(n): O(kWidth n^3) in
  // the worst case.
  for (std::size_t step = 0; step < tasks.size(); ++step) {
    // Ordered by the set of tasks, and ties are broken by the order itself: the result does not
    // depend on the insertion order.
    std::map<std::vector<bool>, Partial> grown;
    for (const Partial& partial : beam) {
      for (std::size_t next = 0; next < tasks.size(); ++next) {
        if (partial.done[next] || !is_ready(partial, tasks[next])) continue;
        Partial after = with(partial, tasks, next);
        const auto [same, is_new] = grown.try_emplace(after.done, after);
        if (!is_new && is_better(after, same->second)) same->second = std::move(after);
      }
    }
    beam.clear();
    for (auto& [done, partial] : grown) beam.push_back(std::move(partial));
    std::ranges::sort(beam, is_better);
    if (beam.size() > kWidth) beam.resize(kWidth);
  }
  return beam.front();
}

}  // namespace

std::vector<Group> in_frugal_order(const ir::Graph& graph, std::vector<Group> groups) {
  const std::vector<Task> tasks = tasks_of(graph, groups);
  Partial given = start(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) given = with(given, tasks, i);
  const Partial found = searched(tasks);
  // The beam is a heuristic: keep the given order unless the new one is better.
  if (found.peak >= given.peak) return groups;
  std::vector<Group> ordered;
  for (const std::size_t i : found.order) ordered.push_back(std::move(groups[i]));
  return ordered;
}

}  // namespace egret::backends::cpu

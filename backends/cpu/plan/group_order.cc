// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/group_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "backends/cpu/loops/pointwise_program.h"

namespace egret::backends::cpu {
namespace {

constexpr std::size_t kWidth = 48;  // width of the beam

// The memory behaviour of a group: its values and the values that it reads.
struct Task {
  // Of its values. Outputs of the graph lie in the caller's memory and take no space in the arena.
  std::int64_t bytes = 0;
  std::vector<std::size_t> inputs{};    // tasks, each once
  std::vector<std::size_t> in_place{};  // inputs whose memory its values may reuse
  std::size_t readers = 0;
};

// The tasks: an input may be overwritten in place if only pointwise nodes of the group read it.
std::vector<Task> tasks_of(const ir::Graph& graph, const std::vector<Group>& groups,
                           const StoredByRoot& stored) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<bool> is_output(graph.size(), false);
  for (const auto& output : graph.outputs()) is_output[output.node.index()] = true;
  // Groups may compute a value that another one stores.
  std::vector<std::size_t> maker(graph.size(), kNone);
  std::vector<Task> tasks(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::vector<ir::NodeId> values{groups[i].root()};
    if (const auto besides = stored.find(groups[i].root()); besides != stored.end())
      values.insert(values.end(), besides->second.begin(), besides->second.end());
    for (const ir::NodeId id : values) {
      maker[id.index()] = i;
      if (!is_output[id.index()]) tasks[i].bytes += graph.node(id).type.bytes();
    }
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Task& task = tasks[i];
    const std::set<ir::NodeId> inside(groups[i].nodes.begin(), groups[i].nodes.end());
    for (const ir::NodeId id : groups[i].nodes) {
      // A product or a convolution reads inputs many times while it writes. Pointwise nodes read
      // each element before they write it.
      const bool computes = id == groups[i].anchor() && !is_pointwise(graph, id);
      for (const ir::NodeId input : graph.node(id).inputs) {
        const std::size_t from = maker[input.index()];
        if (from == kNone || inside.contains(input) || std::ranges::count(task.inputs, from) > 0)
          continue;
        task.inputs.push_back(from);
        ++tasks[from].readers;
        if (!computes) task.in_place.push_back(from);
      }
    }
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
  std::int64_t freed = 0, reused = 0;
  for (const std::size_t input : task.inputs) {
    if (--after.unread[input] > 0) continue;
    freed += tasks[input].bytes;
    if (tasks[input].bytes == task.bytes && std::ranges::count(task.in_place, input) > 0)
      reused = task.bytes;
  }
  // The value and all inputs are live during the step, unless the value overwrites an input of its
  // size.
  after.peak = std::max(after.peak, before.live + task.bytes - reused);
  after.live = before.live + task.bytes - freed;
  if (task.readers == 0) after.live -= task.bytes;
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
// Nothing where tasks wait for each other.
std::optional<Partial> searched(const std::vector<Task>& tasks) {
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
  if (beam.empty()) return std::nullopt;
  return std::move(beam.front());
}

}  // namespace

std::vector<Group> in_frugal_order(const ir::Graph& graph, std::vector<Group> groups,
                                   const StoredByRoot& stored) {
  const std::vector<Task> tasks = tasks_of(graph, groups, stored);
  Partial given = start(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) given = with(given, tasks, i);
  const std::optional<Partial> found = searched(tasks);
  // The beam is a heuristic: keep the given order unless the new one is better.
  if (!found || found->peak >= given.peak) return groups;
  std::vector<Group> ordered;
  for (const std::size_t i : found->order) ordered.push_back(std::move(groups[i]));
  return ordered;
}

}  // namespace egret::backends::cpu

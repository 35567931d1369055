// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/group_order.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "backends/cpu/loops/pointwise_program.h"
#include "base/random.h"
#include "base/stop.h"

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
  std::uint64_t set = 0;                 // hash of the set of its tasks
  std::vector<std::uint32_t> unread{};   // by task: readers that are not done
  std::vector<std::uint32_t> missing{};  // by task: inputs that are not done
  std::vector<std::uint32_t> ready{};    // tasks that may come next
  std::vector<std::uint32_t> order{};
};

// The tasks, and what the search asks of them.
struct Tasks {
  std::vector<Task> all;
  std::vector<std::vector<std::uint32_t>> readers;  // by task
  std::vector<std::uint64_t> hashes;                // by task, random
};

Tasks linked(std::vector<Task> all) {
  Tasks tasks{.all = std::move(all), .readers = {}, .hashes = {}};
  tasks.readers.resize(tasks.all.size());
  base::Random random(1);
  for (std::size_t i = 0; i < tasks.all.size(); ++i) {
    for (const std::size_t input : tasks.all[i].inputs)
      tasks.readers[input].push_back(static_cast<std::uint32_t>(i));
    tasks.hashes.push_back(random.next());
  }
  return tasks;
}

// Of a prefix that one ready task extends. An input dies with its last reader.
struct Memory {
  std::int64_t peak = 0;
  std::int64_t live = 0;
};

Memory memory_with(const Partial& before, const Tasks& tasks, std::size_t next) {
  const Task& task = tasks.all[next];
  std::int64_t freed = 0, reused = 0;
  for (const std::size_t input : task.inputs) {
    if (before.unread[input] > 1) continue;
    const std::int64_t bytes = tasks.all[input].bytes;
    freed += bytes;
    if (bytes == task.bytes && std::ranges::count(task.in_place, input) > 0) reused = task.bytes;
  }
  // The value and all inputs are live during the step, unless the value overwrites an input of its
  // size.
  return {.peak = std::max(before.peak, before.live + task.bytes - reused),
          .live = before.live + (task.readers == 0 ? 0 : task.bytes) - freed};
}

void extend(Partial& partial, const Tasks& tasks, std::uint32_t next) {
  const Memory memory = memory_with(partial, tasks, next);
  partial.peak = memory.peak;
  partial.live = memory.live;
  partial.set ^= tasks.hashes[next];
  for (const std::size_t input : tasks.all[next].inputs) --partial.unread[input];
  std::erase(partial.ready, next);
  for (const std::uint32_t reader : tasks.readers[next]) {
    if (--partial.missing[reader] == 0) partial.ready.push_back(reader);
  }
  partial.order.push_back(next);
}

Partial start(const Tasks& tasks) {
  Partial partial;
  for (std::size_t i = 0; i < tasks.all.size(); ++i) {
    partial.unread.push_back(static_cast<std::uint32_t>(tasks.all[i].readers));
    partial.missing.push_back(static_cast<std::uint32_t>(tasks.all[i].inputs.size()));
    if (partial.missing.back() == 0) partial.ready.push_back(static_cast<std::uint32_t>(i));
  }
  return partial;
}

// A prefix of the beam, extended by one task, before it is made.
struct Extension {
  Memory memory;
  std::uint32_t from = 0;  // in the beam, which is sorted by order: a tie goes to the first order
  std::uint32_t next = 0;

  bool is_worse_than(const Extension& other) const {
    return std::tie(memory.peak, memory.live, from, next) >
           std::tie(other.memory.peak, other.memory.live, other.from, other.next);
  }
};

// Beam search over orders. Prefixes with the same set of tasks have the same live bytes and differ
// only in their peak, so the best one of each set is kept; then the kWidth best go on.
// Nothing where tasks wait for each other, or the process is asked to stop.
std::optional<Partial> searched(const Tasks& tasks) {
  std::vector<Partial> beam{start(tasks)};
  // Each round extends all prefixes by one task. With n tasks there are n rounds, at most kWidth
  // prefixes a round and one extension for each ready task. Only kWidth extensions are copied:
  // O(kWidth n (n + inputs of ready tasks)).
  for (std::size_t step = 0; step < tasks.all.size(); ++step) {
    if (base::stop_requested()) return std::nullopt;
    std::vector<Extension> heap;
    for (std::size_t from = 0; from < beam.size(); ++from) {
      for (const std::uint32_t next : beam[from].ready)
        heap.push_back(
            {memory_with(beam[from], tasks, next), static_cast<std::uint32_t>(from), next});
    }
    const auto worse = [](const Extension& a, const Extension& b) { return a.is_worse_than(b); };
    std::ranges::make_heap(heap, worse);
    std::vector<Partial> grown;
    while (!heap.empty() && grown.size() < kWidth) {
      std::ranges::pop_heap(heap, worse);
      const Extension best = heap.back();
      heap.pop_back();
      const std::uint64_t set = beam[best.from].set ^ tasks.hashes[best.next];
      if (std::ranges::count(grown, set, &Partial::set) > 0) continue;
      grown.push_back(beam[best.from]);
      extend(grown.back(), tasks, best.next);
    }
    std::ranges::sort(grown, {}, &Partial::order);
    beam = std::move(grown);
  }
  const auto better = [](const Partial& a, const Partial& b) {
    return std::tie(a.peak, a.live, a.order) < std::tie(b.peak, b.live, b.order);
  };
  const auto best = std::ranges::min_element(beam, better);
  return best == beam.end() ? std::nullopt : std::optional(std::move(*best));
}

}  // namespace

std::vector<Group> in_frugal_order(const ir::Graph& graph, std::vector<Group> groups,
                                   const StoredByRoot& stored) {
  const Tasks tasks = linked(tasks_of(graph, groups, stored));
  Partial given = start(tasks);
  for (std::size_t i = 0; i < tasks.all.size(); ++i)
    extend(given, tasks, static_cast<std::uint32_t>(i));
  const std::optional<Partial> found = searched(tasks);
  // The beam is a heuristic: keep the given order unless the new one is better.
  if (!found || found->peak >= given.peak) return groups;
  std::vector<Group> ordered;
  for (const std::size_t i : found->order) ordered.push_back(std::move(groups[i]));
  return ordered;
}

}  // namespace egret::backends::cpu

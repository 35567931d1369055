// SPDX-License-Identifier: Apache-2.0
#include "backends/memory_planner.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/system/peak_memory.h"

namespace egret::backends {
namespace {

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

}  // namespace

ArenaLayout plan_arena(std::span<const Lifetime> lifetimes) {
  std::vector<std::int64_t> bytes;
  for (const Lifetime& life : lifetimes) bytes.push_back(life.bytes);
  return plan_arena(bytes, [&](std::size_t a, std::size_t b) {
    return lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
  });
}

// Greedy placement by decreasing size: large buffers are placed while there are few obstacles, and
// small ones fill the gaps. Ties keep the given order, so the layout is deterministic. O(n^2) for n
// buffers. The problem (dynamic storage allocation) is NP-hard.
ArenaLayout plan_arena(std::span<const std::int64_t> bytes,
                       const std::function<bool(std::size_t, std::size_t)>& meet) {
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  ArenaLayout plan;
  plan.offsets.assign(bytes.size(), 0);
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t item : order) {
    const std::int64_t size = aligned(std::max<std::int64_t>(bytes[item], 1));
    // First fit: walk the placed buffers by offset, and move past each one that is live at the same
    // time.
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!meet(item, other)) continue;
      // The gap before this buffer is large enough, and all later ones begin at or behind it.
      if (offset + size <= plan.offsets[other]) break;
      offset =
          std::max(offset, plan.offsets[other] + aligned(std::max<std::int64_t>(bytes[other], 1)));
    }
    plan.offsets[item] = offset;
    plan.bytes = std::max(plan.bytes, offset + size);
    const auto position =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](std::int64_t o, std::size_t p) { return o < plan.offsets[p]; });
    placed.insert(position, item);
  }
  return plan;
}

base::Status no_memory(std::int64_t arena_bytes) {
  return base::limit_hit("not enough memory for the " + std::to_string(arena_bytes) +
                         " bytes of activations of this graph");
}

base::Status check_memory(std::int64_t arena_bytes) {
  const std::int64_t most = base::machine_memory_bytes();
  return most > 0 && arena_bytes > most ? no_memory(arena_bytes) : base::ok();
}

}  // namespace egret::backends

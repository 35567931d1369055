// SPDX-License-Identifier: Apache-2.0
// Places buffers in one arena, given their lifetimes or the pairs that are live at the same time.
//
// Method: largest first, each at the lowest offset where it does not overlap a placed buffer with
// an intersecting lifetime (Pisarchyk and Lee, "Efficient memory management for deep neural net
// inference", 2020, section 5.2, greedy by size). O(n^2).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"

namespace egret::backends {

struct Lifetime {
  std::int64_t bytes = 0;
  int first = 0;  // the first and the last step that touch it, inclusive
  int last = 0;
};

struct ArenaPlan {
  std::vector<std::int64_t> offsets;  // one a lifetime, multiples of kArenaAlignment
  std::int64_t bytes = 0;
};

inline constexpr std::int64_t kArenaAlignment = 64;

ArenaPlan plan_arena(std::span<const Lifetime> lifetimes);
// The same with an explicit relation: meet(a, b) tells whether buffers a and b are live at the same
// time.
ArenaPlan plan_arena(std::span<const std::int64_t> bytes,
                     const std::function<bool(std::size_t, std::size_t)>& meet);

// limit_hit for an arena that is larger than the machine's memory. The system would reserve it, and
// kill the process when it is used.
base::Status check_memory(std::int64_t arena_bytes);
// The error for an arena that cannot be allocated now.
base::Status no_memory(std::int64_t arena_bytes);

}  // namespace egret::backends

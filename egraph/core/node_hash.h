// SPDX-License-Identifier: Apache-2.0
// The hash of a node's content. Inlined, because search, application and rebuild spend much time in
// it.
#pragma once

#include <cstdint>
#include <span>

#include "egraph/core/ids.h"

namespace egret::egraph {

// Multiply-rotate over the words (the hash of Firefox and rustc). The high half of the last product
// is the well-mixed half.
inline std::uint32_t node_hash(OpId op, std::span<const ClassId> children) {
  constexpr std::uint64_t kFactor = 0x517cc1b727220a95ULL;
  std::uint64_t h = (op.index() + 1) * kFactor;
  for (const ClassId child : children) {
    h = (((h << 5) | (h >> 59)) ^ child.index()) * kFactor;
  }
  h ^= h >> 29;
  return static_cast<std::uint32_t>((h * kFactor) >> 32);
}

}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
// The index from a node's content to its id: open addressing with linear probing over 64-bit slots
// (hash and node id), so that a probe of a wrong slot, growth and deletion never touch the nodes.
// Deletion shifts the cluster back: no tombstones, no stale keys (Knuth 6.4, algorithm R).
#pragma once

#include <cstdint>
#include <vector>

#include "egraph/ids.h"

namespace egret::egraph {

class HashCons {
 public:
  // The node with this hash for which same(NodeId) holds, or an invalid id.
  template <typename Same>
  NodeId find(std::uint32_t hash, Same same) const {
    if (slots_.empty()) return {};
    for (std::size_t i = hash & mask(); slots_[i] != kEmpty; i = (i + 1) & mask()) {
      if (hash_of(slots_[i]) == hash && same(node_of(slots_[i]))) return node_of(slots_[i]);
    }
    return {};
  }
  // Brings the slot where a search for this hash begins into the cache.
  void prefetch(std::uint32_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & mask()]);
  }
  // Adds a node whose content is not in the table.
  void insert(std::uint32_t hash, NodeId node);
  // Removes this very node; it must be in the table under this hash.
  void erase(std::uint32_t hash, NodeId node);

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return slots_.capacity() * sizeof(std::uint64_t); }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  static std::uint64_t slot(std::uint32_t hash, NodeId node) {
    return (std::uint64_t{hash} << 32) | node.index();
  }
  static std::uint32_t hash_of(std::uint64_t slot) {
    return static_cast<std::uint32_t>(slot >> 32);
  }
  static NodeId node_of(std::uint64_t slot) { return NodeId(static_cast<std::uint32_t>(slot)); }
  std::size_t mask() const { return slots_.size() - 1; }
  void grow();

  std::vector<std::uint64_t> slots_;  // a power of two of them, at most 3/4 in use
  std::size_t size_ = 0;
};

}  // namespace egret::egraph

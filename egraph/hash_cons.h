// SPDX-License-Identifier: Apache-2.0
// The index from a node's content to its id: open addressing over 64-bit slots (hash and node id),
// so that a probe of a wrong slot, growth and deletion never touch the nodes.
//
// A slot's home is hash * capacity / 2^32, and slots are kept in order of their hashes (Amble and
// Knuth 1974, "Ordered hash tables"; with such homes the order is that of "Robin Hood" hashing).
// Hence a search for what is not there ends as soon as one for what is; the table may be nearly
// full; any capacity will do, so that it grows by a quarter instead of doubling; growth is one
// sequential pass, in place, because no slot moves down; deletion shifts back, leaving no
// tombstones and no stale keys.
#pragma once

#include <cstdint>

#include "egraph/flat_array.h"
#include "egraph/ids.h"

namespace egret::egraph {

class HashCons {
 public:
  // The node with this hash for which same(NodeId) holds, or an invalid id.
  template <typename Same>
  NodeId find(std::uint32_t hash, Same same) const {
    if (size_ == 0) return {};
    const std::uint64_t* slot = slots_.data() + home(hash);
    while (*slot != kEmpty && hash_of(*slot) < hash) ++slot;
    for (; *slot != kEmpty && hash_of(*slot) == hash; ++slot) {
      if (same(node_of(*slot))) return node_of(*slot);
    }
    return {};
  }
  // The first node with this hash, or an invalid id: most likely what find() will look at.
  NodeId peek(std::uint32_t hash) const {
    return find(hash, [](NodeId) { return true; });
  }
  // Brings the slots where a search for this hash begins into the cache.
  void prefetch(std::uint32_t hash) const {
    if (size_ != 0) __builtin_prefetch(&slots_[home(hash)]);
  }
  // Adds a node whose content is not in the table.
  void insert(std::uint32_t hash, NodeId node);
  // Removes this very node; it must be in the table under this hash.
  void erase(std::uint32_t hash, NodeId node);
  // Makes room for this many nodes in all.
  void reserve(std::size_t size);

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return slots_.bytes(); }

 private:
  static constexpr std::uint64_t kEmpty = 0;

  // Node ids are kept plus one, so that no slot in use is 0.
  static std::uint64_t make_slot(std::uint32_t hash, NodeId node) {
    return (std::uint64_t{hash} << 32) | (node.index() + 1U);
  }
  static std::uint32_t hash_of(std::uint64_t slot) {
    return static_cast<std::uint32_t>(slot >> 32);
  }
  static NodeId node_of(std::uint64_t slot) {
    return NodeId(static_cast<std::uint32_t>(slot) - 1U);
  }
  std::size_t home(std::uint32_t hash) const { return (std::uint64_t{hash} * capacity_) >> 32; }
  void rehash(std::size_t capacity);
  void place(std::uint64_t slot, std::size_t at);
  void lengthen_tail();

  // capacity_ homes and a tail for what is pushed past the last; the last slot is always empty.
  FlatArray<std::uint64_t> slots_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace egret::egraph

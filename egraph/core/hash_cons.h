// SPDX-License-Identifier: Apache-2.0
// The index from a node's content to its id. It uses open addressing over buckets of one cache
// line. A bucket holds twelve node ids and twelve tags (eight bits of the hash); one SIMD
// comparison tests all tags (Bronson and Shi 2019, "Open-sourcing F14"). A lookup costs one cache
// line, plus the node's own line on a hit. A slot takes 5.3 bytes.
//
// A bucket counts the ids whose probe sequence passed it because it was full. A search continues
// only if that count is not zero, and deletion leaves no tombstones. Hashes are not stored, so the
// table cannot rehash itself. To grow, its owner empties it with reset() and reinserts all nodes.
// That is a sequential pass over their records and needs no second table.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "egraph/core/flat_array.h"
#include "egraph/core/ids.h"

namespace egret::egraph {

class HashCons {
 public:
  // The node with this hash for which same(NodeId) holds, or an invalid id.
  template <typename Same>
  NodeId find(std::uint32_t hash, Same same) const {
    std::size_t at = home(hash);
    for (std::size_t i = 0; i < count_; ++i) {
      const Bucket& bucket = buckets_[at];
      for (std::uint32_t hits = bucket.with_tag(tag(hash)); hits != 0; hits &= hits - 1) {
        const NodeId node = bucket.nodes[static_cast<unsigned>(std::countr_zero(hits))];
        if (same(node)) return node;
      }
      if (bucket.overflow == 0) break;
      at = next(at);
    }
    return {};
  }
  // The node that find() is likely to compare first, or an invalid id. For prefetching.
  NodeId peek(std::uint32_t hash) const {
    if (count_ == 0) return {};
    const Bucket& bucket = buckets_[home(hash)];
    const std::uint32_t hits = bucket.with_tag(tag(hash));
    return hits == 0 ? NodeId() : bucket.nodes[static_cast<unsigned>(std::countr_zero(hits))];
  }
  // Fetches the home bucket of this hash into the cache.
  void prefetch(std::uint32_t hash) const { __builtin_prefetch(&buckets_[home(hash)]); }

  // Adds a node whose content is not in the table. The table must not be full.
  void insert(std::uint32_t hash, NodeId node);
  // Removes this very node; it must be in the table under this hash.
  void erase(std::uint32_t hash, NodeId node);

  // Replaces the ids of all nodes: move(id) updates an id in place. Contents and hashes stay.
  template <typename Move>
  void renumber(Move move) {
    for (std::size_t at = 0; at < count_; ++at) {
      for (std::size_t slot = 0; slot < kSlots; ++slot) {
        if (buckets_[at].tags[slot] != 0) move(buckets_[at].nodes[slot]);
      }
    }
  }

  bool is_full() const { return size_ >= max_size_; }
  std::size_t max_size() const { return max_size_; }
  // Empties the table and makes room for `size` nodes and some more.
  void reset(std::size_t size);
  // The size to grow to when the table is full.
  std::size_t next_size() const;

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return block_.bytes(); }

 private:
  static constexpr std::size_t kSlots = 12;
  static constexpr std::uint8_t kSaturated = 255;  // an overflow count that is no longer kept

  struct Bucket {
    std::array<std::uint8_t, kSlots> tags;  // 0: empty
    std::uint8_t overflow;
    std::array<std::uint8_t, 3> unused;
    std::array<NodeId, kSlots> nodes;

    // A bit mask of the slots with this tag.
    std::uint32_t with_tag(std::uint8_t tag) const {
#ifdef __SSE2__
      const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tags.data()));
      const __m128i hits = _mm_cmpeq_epi8(all, _mm_set1_epi8(static_cast<char>(tag)));
      return static_cast<std::uint32_t>(_mm_movemask_epi8(hits)) & ((1U << kSlots) - 1);
#else
      std::uint32_t hits = 0;
      for (std::size_t i = 0; i < kSlots; ++i) hits |= (tags[i] == tag ? 1U : 0U) << i;
      return hits;
#endif
    }
  };
  static_assert(sizeof(Bucket) == 64, "a cache line");

  // The tag takes the hash's low bits; the home bucket takes the high bits.
  static std::uint8_t tag(std::uint32_t hash) {
    const auto low = static_cast<std::uint8_t>(hash);
    return low == 0 ? 1 : low;
  }
  std::size_t home(std::uint32_t hash) const { return (std::uint64_t{hash} * count_) >> 32; }
  std::size_t next(std::size_t at) const { return at + 1 == count_ ? 0 : at + 1; }

  FlatArray<std::byte> block_;
  Bucket* buckets_ = nullptr;  // in the block, at the beginning of a cache line
  std::size_t count_ = 0;      // of buckets
  std::size_t size_ = 0;
  std::size_t max_size_ = 0;
};

}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
// Millions of short lists of node ids in one arena.
//
// A list takes 8 bytes: the position of its block and the number of items. A list of one item
// stores that item instead of a position. The capacity is not stored: it is the size rounded up to
// the next of 2, 3, 4, 6, 8, 12, 16, ... (two steps per octave), so at most a third of a block is
// unused. Each step has one free list of blocks, linked through their first words. Appending is
// amortized O(1).
//
// Invariant (checked with those of the e-graph): the blocks of lists and the free blocks partition
// the arena.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "egraph/core/flat_array.h"
#include "egraph/core/ids.h"

namespace egret::egraph {

class NodeLists {
 public:
  struct List {
    NodeId first{0};  // the only item, or where in the arena the items begin
    std::uint32_t size = 0;
  };

  std::span<const NodeId> items(const List& list) const {
    return {list.size == 1 ? &list.first : words_.data() + list.first.index(), list.size};
  }
  // Spans are invalidated by append() and append_all(), and if the List itself moves.
  std::span<NodeId> items(List& list) {
    return {list.size == 1 ? &list.first : words_.data() + list.first.index(), list.size};
  }
  void prefetch(const List& list) const {
    if (list.size > 1) __builtin_prefetch(words_.data() + list.first.index());
  }
  // Prefetches the place of the next item, if there is room.
  void prefetch_end(const List& list) const {
    if (list.size > 1) __builtin_prefetch(words_.data() + list.first.index() + list.size);
  }

  void append(List& list, NodeId item) {
    if (list.size == 0) {
      list = {item, 1};
      return;
    }
    if (is_full(list.size)) grow(list, list.size + 1);
    words_[list.first.index() + list.size++] = item;
  }
  // Appends all items of `from` to `into` and empties `from`.
  void append_all(List& into, List& from);
  // Keeps the first `size` items.
  void shrink(List& list, std::uint32_t size);
  // A new list of these items. The items must not be in the arena.
  List make(std::span<const NodeId> items);

  // The number of words in free blocks.
  std::size_t free_words() const { return free_words_; }
  // For rebuilding the arena without free blocks: copies the items of a list of `other` to the end
  // of this arena. The caller must call it for every list, in the desired memory order.
  void take(List& list, const NodeLists& other) { list = make(other.items(list)); }

  std::size_t bytes() const { return words_.bytes(); }
  void shrink_to_fit() { words_.shrink_to_fit(); }
  std::size_t words() const { return words_.size(); }
  // Items that the block of a list of `size` items holds.
  static std::uint32_t capacity(std::uint32_t size) {
    return size < 2 ? 0 : block_words(step(size));
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  // Block sizes by step: steps 0, 1, 2, 3, 4, 5, ... have 1, 2, 3, 4, 6, 8, ... words.
  static unsigned step(std::uint32_t size) {
    const auto log2 = static_cast<unsigned>(std::bit_width(size - 1));
    if (log2 < 2) return log2;
    return 2 * log2 - (size <= (3U << (log2 - 2)) ? 2 : 1);
  }
  static std::uint32_t block_words(unsigned step) {
    if (step % 2 == 1) return 1U << ((step + 1) / 2);
    return step == 0 ? 1U : 3U << (step / 2 - 1);
  }
  // Whether a list of this size > 0 fills its block: 2^k or 3 * 2^k.
  static bool is_full(std::uint32_t size) {
    const std::uint32_t lowest = size & (0U - size);
    return size == lowest || size == 3 * lowest;
  }

  void grow(List& list, std::uint32_t size);
  std::uint32_t allocate(unsigned step);
  void release(std::uint32_t begin, unsigned step);

  FlatArray<NodeId> words_;
  std::size_t free_words_ = 0;
  std::array<std::uint32_t, 64> free_ = [] {
    std::array<std::uint32_t, 64> none{};
    none.fill(kNone);
    return none;
  }();
};

}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
// Millions of short lists of node ids in one arena.
//
// A list is 8 bytes: where its block begins and how many items it has. Its capacity is not stored:
// it is the size rounded up to a power of two. Freed blocks wait in one free list per power of two,
// linked through their first word. Appending is amortized O(1); at most half of a block is unused.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "egraph/ids.h"

namespace egret::egraph {

class NodeLists {
 public:
  struct List {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };

  std::span<const NodeId> items(const List& list) const {
    return {words_.data() + list.begin, list.size};
  }
  // Spans are invalidated by append and append_all.
  std::span<NodeId> items(const List& list) { return {words_.data() + list.begin, list.size}; }

  void append(List& list, NodeId item);
  // Moves all items of `from` behind those of `into`; `from` is empty afterwards.
  void append_all(List& into, List& from);
  // Keeps the first `size` items.
  void shrink(List& list, std::uint32_t size);

  std::size_t bytes() const { return words_.capacity() * sizeof(NodeId); }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  void grow(List& list, std::uint32_t size);
  std::uint32_t allocate(unsigned log2);
  void release(std::uint32_t begin, unsigned log2);

  std::vector<NodeId> words_;
  std::array<std::uint32_t, 32> free_ = [] {
    std::array<std::uint32_t, 32> none{};
    none.fill(kNone);
    return none;
  }();
};

}  // namespace egret::egraph

// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/node_lists.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace egret::egraph {

// A buddy-like arena: the capacity of a list follows from its size, so no list stores it. A list of
// one item stores the item in place of the position and has no block.
void NodeLists::append_all(List& into, List& from) {
  if (from.size == 0) return;
  if (into.size == 0) {
    std::swap(into, from);
    return;
  }
  const std::uint32_t size = into.size;
  if (capacity(size + from.size) != capacity(size)) grow(into, size + from.size);
  const auto added = items(from);
  std::copy(added.begin(), added.end(), words_.begin() + into.first.index() + size);
  into.size = size + from.size;
  if (from.size > 1) release(from.first.index(), step(from.size));
  from = {};
}

void NodeLists::shrink(List& list, std::uint32_t size) {
  EGRET_DCHECK(size <= list.size);
  if (size == list.size) return;
  if (list.size == 1) {
    list = {};
    return;
  }
  const NodeId first = words_[list.first.index()];
  const std::uint32_t end = list.first.index() + capacity(list.size);
  std::uint32_t begin = list.first.index() + capacity(size);
  // Splits the surplus into free blocks, largest first. Every number is a sum of block sizes.
  while (begin != end) {
    unsigned largest = step(end - begin);
    if (block_words(largest) > end - begin) --largest;
    release(begin, largest);
    begin += block_words(largest);
  }
  list.size = size;
  if (size < 2) list.first = size == 0 ? NodeId(0) : first;
}

NodeLists::List NodeLists::make(std::span<const NodeId> items) {
  if (items.empty()) return {};
  const auto size = static_cast<std::uint32_t>(items.size());
  if (size == 1) return {items[0], 1};
  const List list{NodeId(allocate(step(size))), size};
  std::copy(items.begin(), items.end(), words_.begin() + list.first.index());
  return list;
}

// Moves the items to a block that holds `size` items.
void NodeLists::grow(List& list, std::uint32_t size) {
  const std::uint32_t begin = allocate(step(size));
  const auto old = items(list);
  std::copy(old.begin(), old.end(), words_.begin() + begin);
  if (list.size > 1) release(list.first.index(), step(list.size));
  list.first = NodeId(begin);
}

std::uint32_t NodeLists::allocate(unsigned step) {
  const std::uint32_t words = block_words(step);
  if (const std::uint32_t begin = free_[step]; begin != kNone) {
    free_[step] = words_[begin].index();
    free_words_ -= words;
    return begin;
  }
  const std::size_t begin = words_.size();
  EGRET_CHECK(begin + words < kNone, "more than 2^32 words of node lists");
  NodeId* const added = words_.extend(words);
  std::fill(added, added + words, NodeId());
  return static_cast<std::uint32_t>(begin);
}

// Free blocks of one size form a linked list through their first words: O(1), without further
// memory.
void NodeLists::release(std::uint32_t begin, unsigned step) {
  words_[begin] = NodeId(free_[step]);
  free_[step] = begin;
  free_words_ += block_words(step);
}

}  // namespace egret::egraph

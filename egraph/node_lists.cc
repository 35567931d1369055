// SPDX-License-Identifier: Apache-2.0
#include "egraph/node_lists.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace egret::egraph {

void NodeLists::append_all(List& into, List& from) {
  if (from.size == 0) return;
  if (into.size == 0) {
    std::swap(into, from);
    return;
  }
  const std::uint32_t size = into.size;
  if (step(size + from.size) != step(size)) grow(into, size + from.size);
  std::copy_n(words_.begin() + from.begin, from.size, words_.begin() + into.begin + size);
  into.size = size + from.size;
  release(from.begin, step(from.size));
  from = {};
}

void NodeLists::shrink(List& list, std::uint32_t size) {
  EGRET_DCHECK(size <= list.size);
  if (list.size == 0) return;
  const std::uint32_t end = list.begin + capacity(list.size);
  std::uint32_t begin = list.begin + capacity(size);
  // What is left over, in blocks as large as they come.
  while (begin != end) {
    unsigned largest = step(end - begin);
    if (block_words(largest) > end - begin) --largest;
    release(begin, largest);
    begin += block_words(largest);
  }
  list = size == 0 ? List{} : List{list.begin, size};
}

NodeLists::List NodeLists::make(std::span<const NodeId> items) {
  if (items.empty()) return {};
  const auto size = static_cast<std::uint32_t>(items.size());
  const List list{allocate(step(size)), size};
  std::copy(items.begin(), items.end(), words_.begin() + list.begin);
  return list;
}

// Moves the items to a block that holds `size` items.
void NodeLists::grow(List& list, std::uint32_t size) {
  const std::uint32_t begin = allocate(step(size));
  if (list.size > 0) {
    std::copy_n(words_.begin() + list.begin, list.size, words_.begin() + begin);
    release(list.begin, step(list.size));
  }
  list.begin = begin;
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

void NodeLists::release(std::uint32_t begin, unsigned step) {
  words_[begin] = NodeId(free_[step]);
  free_[step] = begin;
  free_words_ += block_words(step);
}

}  // namespace egret::egraph

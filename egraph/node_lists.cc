// SPDX-License-Identifier: Apache-2.0
#include "egraph/node_lists.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace egret::egraph {
namespace {

// Log2 of the capacity of a list of `size` > 0 items.
unsigned block(std::uint32_t size) { return static_cast<unsigned>(std::bit_width(size - 1)); }

}  // namespace

void NodeLists::append(List& list, NodeId item) {
  const std::uint32_t size = list.size;
  if (size == 0 || std::has_single_bit(size)) grow(list, size + 1);
  words_[list.begin + size] = item;
  list.size = size + 1;
}

void NodeLists::append_all(List& into, List& from) {
  if (from.size == 0) return;
  if (into.size == 0) {
    std::swap(into, from);
    return;
  }
  const std::uint32_t size = into.size;
  if (block(size + from.size) != block(size)) grow(into, size + from.size);
  std::copy_n(words_.begin() + from.begin, from.size, words_.begin() + into.begin + size);
  into.size = size + from.size;
  release(from.begin, block(from.size));
  from = {};
}

void NodeLists::shrink(List& list, std::uint32_t size) {
  EGRET_DCHECK(size <= list.size);
  if (list.size == 0) return;
  unsigned old_log2 = block(list.size);
  if (size == 0) {
    release(list.begin, old_log2);
    list = {};
    return;
  }
  // The unused tail of a block of 2^k is a block of 2^(k-1), and so on downwards.
  for (const unsigned log2 = block(size); old_log2 > log2; --old_log2) {
    release(list.begin + (1U << (old_log2 - 1)), old_log2 - 1);
  }
  list.size = size;
}

// Moves the items to a block that holds `size` items.
void NodeLists::grow(List& list, std::uint32_t size) {
  const std::uint32_t begin = allocate(block(size));
  if (list.size > 0) {
    std::copy_n(words_.begin() + list.begin, list.size, words_.begin() + begin);
    release(list.begin, block(list.size));
  }
  list.begin = begin;
}

std::uint32_t NodeLists::allocate(unsigned log2) {
  if (const std::uint32_t begin = free_[log2]; begin != kNone) {
    free_[log2] = words_[begin].index();
    return begin;
  }
  const std::size_t begin = words_.size();
  EGRET_CHECK(begin + (std::size_t{1} << log2) < kNone, "more than 2^32 words of node lists");
  words_.resize(begin + (std::size_t{1} << log2));
  return static_cast<std::uint32_t>(begin);
}

void NodeLists::release(std::uint32_t begin, unsigned log2) {
  words_[begin] = NodeId(free_[log2]);
  free_[log2] = begin;
}

}  // namespace egret::egraph

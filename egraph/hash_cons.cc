// SPDX-License-Identifier: Apache-2.0
#include "egraph/hash_cons.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace egret::egraph {
namespace {

constexpr std::size_t kMinCapacity = 64;
constexpr std::size_t kTail = 32;
// In use at most; ordered slots keep searches short even so.
constexpr std::size_t kLoadNumerator = 13;
constexpr std::size_t kLoadDenominator = 16;

}  // namespace

void HashCons::insert(std::uint32_t hash, NodeId node) {
  if ((size_ + 1) * kLoadDenominator > capacity_ * kLoadNumerator) {
    constexpr std::size_t kSmall = std::size_t{1} << 16;
    rehash(std::max(kMinCapacity, capacity_ < kSmall ? capacity_ * 2 : capacity_ + capacity_ / 4));
  }
  const std::uint64_t added = make_slot(hash, node);
  std::size_t at = home(hash);
  while (slots_[at] != kEmpty && hash_of(slots_[at]) <= hash) ++at;
  // Everything up to the next empty slot moves by one.
  std::uint64_t carried = added;
  while (carried != kEmpty) std::swap(carried, slots_[at++]);
  if (at == slots_.size()) lengthen_tail();
  ++size_;
}

void HashCons::erase(std::uint32_t hash, NodeId node) {
  const std::uint64_t wanted = make_slot(hash, node);
  std::size_t hole = capacity_ == 0 ? 0 : home(hash);
  while (slots_[hole] != wanted) {
    EGRET_CHECK(slots_[hole] != kEmpty, "the node is not in the hash-cons");
    ++hole;
  }
  for (; slots_[hole + 1] != kEmpty && home(hash_of(slots_[hole + 1])) <= hole; ++hole) {
    slots_[hole] = slots_[hole + 1];
  }
  slots_[hole] = kEmpty;
  --size_;
}

void HashCons::reserve(std::size_t size) {
  const std::size_t capacity = size * kLoadDenominator / kLoadNumerator + 1;
  if (capacity > capacity_) rehash(std::max(kMinCapacity, capacity));
}

void HashCons::rehash(std::size_t capacity) {
  const FlatArray<std::uint64_t> old = std::exchange(slots_, {});
  capacity_ = capacity;
  slots_.resize(capacity + kTail, kEmpty);
  slots_.shrink_to_fit();
  // In order of hashes, each goes behind the one before or to its home.
  std::size_t next = 0;
  for (const std::uint64_t slot : old) {
    if (slot == kEmpty) continue;
    next = std::max(next, home(hash_of(slot)));
    if (next + 1 == slots_.size()) lengthen_tail();
    slots_[next++] = slot;
  }
}

void HashCons::lengthen_tail() {
  slots_.resize(slots_.size() + kTail, kEmpty);
  slots_.shrink_to_fit();
}

}  // namespace egret::egraph

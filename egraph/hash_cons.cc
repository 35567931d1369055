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
constexpr std::size_t kLoadNumerator = 7;
constexpr std::size_t kLoadDenominator = 8;

}  // namespace

void HashCons::insert(std::uint32_t hash, NodeId node) {
  if ((size_ + 1) * kLoadDenominator > capacity_ * kLoadNumerator) {
    constexpr std::size_t kSmall = std::size_t{1} << 16;
    rehash(std::max(kMinCapacity, capacity_ < kSmall ? capacity_ * 2 : capacity_ + capacity_ / 4));
  }
  std::size_t at = home(hash);
  while (slots_[at] != kEmpty && hash_of(slots_[at]) <= hash) ++at;
  place(make_slot(hash, node), at);
  ++size_;
}

// Puts the slot there; everything up to the next empty one moves by one.
void HashCons::place(std::uint64_t slot, std::size_t at) {
  while (slot != kEmpty) std::swap(slot, slots_[at++]);
  if (at == slots_.size()) lengthen_tail();
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

// Cluster by cluster (what stands between empty slots) from the last to the first. New places are
// never before old ones: homes only move up.
void HashCons::rehash(std::size_t capacity) {
  const std::size_t old_size = slots_.size();
  capacity_ = capacity;
  slots_.resize(capacity + kTail, kEmpty);
  slots_.shrink_to_fit();
  FlatArray<std::uint64_t> cluster;
  for (std::size_t end = old_size; end > 0;) {
    std::size_t begin = end;
    while (begin > 0 && slots_[begin - 1] != kEmpty) --begin;
    cluster.clear();
    cluster.append(slots_.span().subspan(begin, end - begin));
    std::fill(slots_.begin() + begin, slots_.begin() + end, kEmpty);
    // In order of hashes, each goes behind the one before or to its home; which the cluster placed
    // before this one may have reached already.
    std::size_t next = 0;
    for (const std::uint64_t slot : cluster) {
      next = std::max(next, home(hash_of(slot)));
      place(slot, next++);
    }
    end = begin == 0 ? 0 : begin - 1;
  }
}

void HashCons::lengthen_tail() {
  slots_.resize(slots_.size() + kTail, kEmpty);
  slots_.shrink_to_fit();
}

}  // namespace egret::egraph

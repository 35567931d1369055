// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/hash_cons.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/check.h"

namespace egret::egraph {
namespace {

// The maximal load factor, 7/8.
constexpr std::size_t kLoadNumerator = 7;
constexpr std::size_t kLoadDenominator = 8;

}  // namespace

// Open addressing over buckets: the first bucket with a free slot takes the node. Each full bucket
// on the way counts one more overflow, so a search may stop at a bucket without overflow.
void HashCons::insert(std::uint32_t hash, NodeId node) {
  EGRET_DCHECK(!is_full());
  std::size_t at = home(hash);
  while (true) {
    Bucket& bucket = buckets_[at];
    if (const std::uint32_t free = bucket.with_tag(0); free != 0) {
      const auto slot = static_cast<unsigned>(std::countr_zero(free));
      bucket.tags[slot] = tag(hash);
      bucket.nodes[slot] = node;
      ++size_;
      return;
    }
    if (bucket.overflow != kSaturated) ++bucket.overflow;
    at = next(at);
  }
}

// Walks the same probe sequence as insert() and decrements the overflow counts that insert()
// incremented. A saturated count stays: its true value is unknown.
void HashCons::erase(std::uint32_t hash, NodeId node) {
  std::size_t at = count_ == 0 ? 0 : home(hash);
  for (std::size_t i = 0; i < count_; ++i) {
    Bucket& bucket = buckets_[at];
    for (std::uint32_t hits = bucket.with_tag(tag(hash)); hits != 0; hits &= hits - 1) {
      const auto slot = static_cast<unsigned>(std::countr_zero(hits));
      if (bucket.nodes[slot] != node) continue;
      bucket.tags[slot] = 0;
      --size_;
      return;
    }
    EGRET_CHECK(bucket.overflow != 0, "the node is not in the hash-cons");
    if (bucket.overflow != kSaturated) --bucket.overflow;
    at = next(at);
  }
  EGRET_CHECK(false, "the node is not in the hash-cons");
}

// A large table grows by half: doubling it would leave up to half of the largest array unused.
std::size_t HashCons::next_size() const {
  constexpr std::size_t kSmall = std::size_t{1} << 16;
  return size_ < kSmall ? std::max(2 * size_, kSlots) : size_ + size_ / 2;
}

// The number of buckets need not be a power of two, so the table fits the wanted size. Buckets are
// aligned to their own size, so that each lies in one cache line.
void HashCons::reset(std::size_t size) {
  count_ = size * kLoadDenominator / kLoadNumerator / kSlots + 1;
  max_size_ = count_ * kSlots * kLoadNumerator / kLoadDenominator;
  size_ = 0;
  block_.clear();
  block_.shrink_to_fit();
  std::size_t bytes = (count_ + 1) * sizeof(Bucket);
  void* begin = block_.extend(bytes);
  begin = std::align(sizeof(Bucket), count_ * sizeof(Bucket), begin, bytes);
  std::memset(begin, 0, count_ * sizeof(Bucket));
  buckets_ = static_cast<Bucket*>(begin);
}

}  // namespace egret::egraph

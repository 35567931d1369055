// SPDX-License-Identifier: Apache-2.0
#include "egraph/hash_cons.h"

#include <utility>

#include "base/check.h"

namespace egret::egraph {

void HashCons::insert(std::uint32_t hash, NodeId node) {
  if ((size_ + 1) * 4 > slots_.size() * 3) grow();
  std::size_t i = hash & mask();
  while (slots_[i] != kEmpty) i = (i + 1) & mask();
  slots_[i] = slot(hash, node);
  ++size_;
}

void HashCons::erase(std::uint32_t hash, NodeId node) {
  std::size_t hole = hash & mask();
  while (slots_[hole] != slot(hash, node)) {
    EGRET_CHECK(slots_[hole] != kEmpty, "the node is not in the hash-cons");
    hole = (hole + 1) & mask();
  }
  // Pull back every later entry of the cluster that may stand in the hole.
  for (std::size_t i = (hole + 1) & mask(); slots_[i] != kEmpty; i = (i + 1) & mask()) {
    const std::size_t home = hash_of(slots_[i]) & mask();
    if (((i - home) & mask()) >= ((i - hole) & mask())) {
      slots_[hole] = slots_[i];
      hole = i;
    }
  }
  slots_[hole] = kEmpty;
  --size_;
}

void HashCons::grow() {
  const std::vector<std::uint64_t> old = std::exchange(slots_, {});
  slots_.assign(old.empty() ? 64 : old.size() * 2, kEmpty);
  for (const std::uint64_t entry : old) {
    if (entry == kEmpty) continue;
    std::size_t i = hash_of(entry) & mask();
    while (slots_[i] != kEmpty) i = (i + 1) & mask();
    slots_[i] = entry;
  }
}

}  // namespace egret::egraph

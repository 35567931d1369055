// SPDX-License-Identifier: Apache-2.0
#include "base/system/page_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/address_space.h"

namespace egret::base {
namespace {

constexpr std::size_t kMiB = 1U << 20;

bool is_all(const std::byte* data, std::size_t bytes, std::byte value) {
  return std::all_of(data, data + bytes, [&](std::byte b) { return b == value; });
}

TEST(PagePool, BlocksStartOnPagesAndReadAsZerosWhereTheySaySo) {
  PagePool pool;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 5 * kMiB / 2, 20 * kMiB}) {
    const PagePool::Block block = pool.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data) % 4096, 0U);
    EXPECT_TRUE(block.zeroed);
    EXPECT_TRUE(is_all(block.data, bytes, std::byte{0}));
  }
}

TEST(PagePool, WhatWasFreedIsGivenAgainAndSaidToBeWritten) {
  PagePool pool;
  const PagePool::Block first = pool.allocate(kMiB);
  std::memset(first.data, 1, kMiB);
  (void)pool.allocate(kMiB);  // keeps the freed range apart from what was never used
  pool.free(first.data);
  EXPECT_EQ(pool.dirty_bytes(), kMiB);
  const PagePool::Block again = pool.allocate(kMiB);
  EXPECT_EQ(again.data, first.data);
  EXPECT_FALSE(again.zeroed);
  EXPECT_EQ(pool.dirty_bytes(), 0U);
}

TEST(PagePool, KeepsAsMuchAsItIsToldAndGivesTheRestBackCleared) {
  PagePool pool;
  pool.keep_at_most(4 * kMiB);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 12; ++i) blocks.push_back(pool.allocate(kMiB).data);
  for (std::byte* block : blocks) std::memset(block, 7, kMiB);
  for (std::byte* block : blocks) {
    pool.free(block);
    EXPECT_LE(pool.dirty_bytes(), 4 * kMiB);
  }
  pool.keep_at_most(0);
  EXPECT_EQ(pool.dirty_bytes(), 0U);
  const PagePool::Block merged = pool.allocate(12 * kMiB);  // what lay side by side is one again
  EXPECT_EQ(merged.data, blocks.front());
  EXPECT_TRUE(merged.zeroed);
  EXPECT_TRUE(is_all(merged.data, 12 * kMiB, std::byte{0}));
}

TEST(PagePool, UnmapsWhatIsLargeAndMoreThanItKeeps) {
  PagePool pool;
  const PagePool::Block large = pool.allocate(64 * kMiB);
  EXPECT_EQ(pool.mapped_bytes(), 64 * kMiB);
  pool.free(large.data);
  EXPECT_EQ(pool.allocate(64 * kMiB).data, large.data);
  pool.keep_at_most(63 * kMiB);
  pool.free(large.data);
  EXPECT_EQ(pool.mapped_bytes(), 0U);
  EXPECT_EQ(pool.dirty_bytes(), 0U);
}

TEST(PagePool, SaysWhenThereIsNoMemory) {
  PagePool pool;
  EXPECT_THROW((void)pool.allocate(SIZE_MAX), std::bad_alloc);
  EXPECT_THROW((void)pool.allocate(SIZE_MAX / 2), std::bad_alloc);
  EXPECT_TRUE(pool.allocate(kMiB).zeroed);  // and goes on
}

#ifdef EGRET_LIMITS_ADDRESS_SPACE

TEST(PagePool, GivesFreeRangesBackForALargerOne) {
  const auto scenario = [] {
    PagePool pool;
    pool.keep_at_most(64 * kMiB);
    pool.free(pool.allocate(64 * kMiB).data);
    limit_address_space(8 * kMiB);
    const bool given = pool.allocate(66 * kMiB).zeroed && pool.mapped_bytes() == 66 * kMiB;
    ::_exit(given ? 0 : 1);
  };
  EXPECT_EXIT(scenario(), testing::ExitedWithCode(0), "");
}

TEST(PagePool, MapsNoMoreThanABlockWhereMoreIsRefused) {
  const auto scenario = [] {
    PagePool pool;
    limit_address_space(8 * kMiB);
    const bool small = pool.allocate(kMiB).zeroed && pool.mapped_bytes() == kMiB;
    ::_exit(small ? 0 : 1);
  };
  EXPECT_EXIT(scenario(), testing::ExitedWithCode(0), "");
}

#endif

// Every block is filled with a value of its own, which must still be there when it is freed.
void take_turns(PagePool& pool, std::uint64_t seed) {
  struct Held {
    std::byte* data;
    std::size_t bytes;
    std::byte value;
  };
  Random random(seed);
  std::vector<Held> held;
  for (int step = 0; step < 600; ++step) {
    if (held.size() < 12 && random.below(2) == 0) {
      const std::size_t bytes = 1 + random.below(random.below(20) == 0 ? 20 * kMiB : kMiB / 2);
      const PagePool::Block block = pool.allocate(bytes);
      if (block.zeroed) {
        EXPECT_TRUE(is_all(block.data, bytes, std::byte{0}));
      }
      const auto value = static_cast<std::byte>(1 + random.below(255));
      std::memset(block.data, static_cast<int>(value), bytes);
      held.push_back({block.data, bytes, value});
    } else if (!held.empty()) {
      const std::size_t i = random.below(held.size());
      EXPECT_TRUE(is_all(held[i].data, held[i].bytes, held[i].value));
      pool.free(held[i].data);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (random.below(100) == 0) pool.keep_at_most(random.below(64) * kMiB);
  }
  for (const Held& block : held) pool.free(block.data);
}

TEST(PagePool, BlocksNeverOverlap) {
  PagePool pool;
  std::thread other([&] { take_turns(pool, 1); });
  take_turns(pool, 2);
  other.join();
  pool.keep_at_most(0);
  EXPECT_EQ(pool.dirty_bytes(), 0U);
}

}  // namespace
}  // namespace egret::base

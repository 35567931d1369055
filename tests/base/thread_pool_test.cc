// SPDX-License-Identifier: Apache-2.0
#include "base/system/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "base/check.h"

namespace egret::base {
namespace {

TEST(ThreadPool, EveryIndexIsVisitedOnceForManyShapes) {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    ThreadPool pool(threads);
    for (const std::size_t count : {0U, 1U, 2U, 7U, 64U, 1000U}) {
      for (const std::size_t grain : {1U, 3U, 64U, 5000U}) {
        std::vector<std::atomic<int>> visits(count);
        pool.parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
          for (std::size_t i = begin; i < end; ++i) ++visits[i];
        });
        for (const auto& visit : visits) ASSERT_EQ(visit, 1);
      }
    }
  }
}

TEST(ThreadPool, PiecesDoNotDependOnTheNumberOfThreads) {
  auto pieces_with = [](std::size_t threads) {
    ThreadPool pool(threads);
    std::set<std::pair<std::size_t, std::size_t>> pieces;
    std::mutex mutex;
    pool.parallel_for(103, 10, [&](std::size_t begin, std::size_t end) {
      const std::lock_guard lock(mutex);
      pieces.emplace(begin, end);
    });
    return pieces;
  };
  EXPECT_EQ(pieces_with(1), pieces_with(4));
}

TEST(ThreadPool, NestedLoopsRunInline) {
  ThreadPool pool(3);
  std::atomic<int> moved{0};
  std::atomic<int> visits{0};
  pool.parallel_for(8, 1, [&](std::size_t, std::size_t) {
    const auto outer = std::this_thread::get_id();
    pool.parallel_for(8, 1, [&](std::size_t, std::size_t) {
      if (std::this_thread::get_id() != outer) ++moved;
      ++visits;
    });
  });
  EXPECT_EQ(moved, 0);
  EXPECT_EQ(visits, 64);
}

TEST(ThreadPool, LoopsOfASequentialThreadRunInline) {
  ThreadPool pool(4);
  const auto threads_of_loop = [&] {
    std::set<std::thread::id> threads;
    pool.parallel_for(
        50, 1, [&](std::size_t, std::size_t) { threads.insert(std::this_thread::get_id()); });
    return threads;
  };
  {
    const SequentialLoops here;
    { const SequentialLoops inner; }
    EXPECT_EQ(threads_of_loop(), std::set{std::this_thread::get_id()});
  }
  std::atomic<int> visits = 0;
  pool.parallel_for(50, 1, [&](std::size_t, std::size_t) { ++visits; });
  EXPECT_EQ(visits, 50);
}

TEST(ThreadPool, CallsFromSeveralThreadsTakeTurns) {
  ThreadPool pool(2);
  std::atomic<int> visits{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        pool.parallel_for(16, 1, [&](std::size_t, std::size_t) { ++visits; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(visits, 4 * 50 * 16);
}

TEST(ThreadPool, TheFailedCheckOfTheLowestPieceReachesTheCaller) {
  ThreadPool pool(4);
  for (int round = 0; round < 20; ++round) {
    try {
      pool.parallel_for(32, 1, [](std::size_t begin, std::size_t) {
        EGRET_CHECK(begin < 7, "beyond");
        EGRET_CHECK(begin != 5, "five");
      });
      FAIL() << "no check failed";
    } catch (const CheckFailure& failure) {
      EXPECT_EQ(failure.message, "five");
    }
  }
  std::atomic<int> visits{0};
  pool.parallel_for(4, 1, [&](std::size_t, std::size_t) { ++visits; });
  EXPECT_EQ(visits, 4) << "the pool still works";
}

}  // namespace
}  // namespace egret::base

// SPDX-License-Identifier: Apache-2.0
#include "base/system/in_order.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

namespace egret::base {
namespace {

TEST(InOrder, HandsResultsOverInTheOrderOfTheItems) {
  for (const std::size_t threads : {1U, 2U, 5U}) {
    ThreadPool pool(threads);
    std::string all;
    in_order<std::size_t>(
        pool, 9,
        [](std::size_t i) {
          // The first take longest.
          std::this_thread::sleep_for(std::chrono::milliseconds(9 - i));
          return std::optional(i);
        },
        [&](std::size_t i, std::size_t result) {
          EXPECT_EQ(i, result);
          all += std::to_string(i);
        });
    EXPECT_EQ(all, "012345678") << threads << " threads";
  }
}

TEST(InOrder, EndsTheRowWhereThereIsNoResult) {
  ThreadPool pool(2);
  std::string all;
  in_order<std::size_t>(
      pool, 6, [](std::size_t i) { return i == 3 ? std::nullopt : std::optional(i); },
      [&](std::size_t i, std::size_t) { all += std::to_string(i); });
  EXPECT_EQ(all, "012");
}

}  // namespace
}  // namespace egret::base

// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/stream_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace egret::backends::cuda {
namespace {

// Whether step b begins after step a has ended, by streams and waits alone.
std::vector<std::vector<bool>> orders(const StreamSchedule& schedule) {
  const std::size_t count = schedule.steps.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count, false));
  for (std::size_t b = 0; b < count; ++b) {
    const auto follow = [&](std::size_t a) {
      before[a][b] = true;
      for (std::size_t c = 0; c < a; ++c) before[c][b] = before[c][b] || before[c][a];
    };
    for (std::size_t a = 0; a < b; ++a) {
      if (schedule.steps[a].stream == schedule.steps[b].stream) follow(a);
    }
    for (const int a : schedule.steps[b].waits) follow(static_cast<std::size_t>(a));
  }
  return before;
}

MemoryRange place(std::uint64_t at) { return {at * 10, at * 10 + 10}; }

TEST(StreamSchedule, RunsBranchesBesideEachOtherAndAChainOnOneStream) {
  // 0 feeds 1 and 2, which 3 joins; each writes the place of its number.
  const std::vector<StepMemory> diamond{{{}, place(0)},
                                        {{place(0)}, place(1)},
                                        {{place(0)}, place(2)},
                                        {{place(1), place(2)}, place(3)}};
  const StreamSchedule schedule = schedule_streams(diamond, 4);
  EXPECT_EQ(schedule.streams, 2);
  EXPECT_EQ(schedule.steps[1].stream, 0);
  EXPECT_EQ(schedule.steps[2].stream, 1);
  EXPECT_EQ(schedule.steps[2].waits, std::vector{0});
  EXPECT_EQ(schedule.steps[3].stream, 0);
  EXPECT_EQ(schedule.steps[3].waits, std::vector{2});
  EXPECT_EQ(schedule.tails, std::vector{2});
  const StreamSchedule alone = schedule_streams(diamond, 1);
  EXPECT_EQ(alone.streams, 1);
  for (const ScheduledStep& step : alone.steps) EXPECT_TRUE(step.waits.empty());
}

TEST(StreamSchedule, OrdersValuesThatLieInOnePlaceOneAfterTheOther) {
  // 2 writes where what 1 reads lies, 3 where 2 wrote.
  const std::vector<StepMemory> reuse{
      {{}, place(0)}, {{place(0)}, place(1)}, {{}, place(0)}, {{}, place(0)}};
  const auto before = orders(schedule_streams(reuse, 4));
  EXPECT_TRUE(before[1][2]);
  EXPECT_TRUE(before[2][3]);
}

TEST(StreamSchedule, OrdersAllThatDependInRandomPrograms) {
  int beside = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    base::Random random(seed);
    std::vector<StepMemory> steps;
    const auto any = [&] { return place(random.below(12)); };
    for (int s = 0; s < 30; ++s) {
      StepMemory& step = steps.emplace_back();
      for (std::int64_t reads = random.between(0, 2); reads > 0; --reads)
        step.reads.push_back(any());
      step.writes = any();
    }
    const StreamSchedule schedule = schedule_streams(steps, static_cast<int>(random.between(1, 5)));
    const auto before = orders(schedule);
    const auto touch = [](const MemoryRange& a, const MemoryRange& b) {
      return a.begin == b.begin;
    };
    for (std::size_t b = 0; b < steps.size(); ++b) {
      for (std::size_t a = 0; a < b; ++a) {
        const auto reads = [&](std::size_t reader, std::size_t writer) {
          return std::ranges::any_of(steps[reader].reads, [&](const auto& range) {
            return touch(range, steps[writer].writes);
          });
        };
        if (reads(b, a) || reads(a, b) || touch(steps[a].writes, steps[b].writes)) {
          EXPECT_TRUE(before[a][b]) << seed << ": " << a << ", " << b;
        } else if (!before[a][b]) {
          ++beside;
        }
      }
      for (const int awaited : schedule.steps[b].waits)
        EXPECT_TRUE(schedule.steps[static_cast<std::size_t>(awaited)].is_awaited);
    }
  }
  EXPECT_GT(beside, 1000);
}

}  // namespace
}  // namespace egret::backends::cuda

// SPDX-License-Identifier: Apache-2.0
// Which steps of a plan may run beside each other, and on which streams.
//
// Steps depend on each other where one writes what the other reads or writes, values that lie in
// one place one after the other included. Each step goes on the stream of a step that it depends
// on and that is the last one there, else on one that is free; what else it depends on, on other
// streams, it waits for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace egret::backends::cuda {

// Bytes [begin, end) of the device's memory.
struct MemoryRange {
  std::uint64_t begin = 0, end = 0;
};

struct StepMemory {
  std::vector<MemoryRange> reads{};
  MemoryRange writes;
  int joined_into = -1;  // of parts of one value, which need not wait for each other, its number
};

struct ScheduledStep {
  int stream = 0;
  std::vector<int> waits;   // for these steps, of other streams
  bool is_awaited = false;  // by a step of another stream
};

struct StreamSchedule {
  std::vector<ScheduledStep> steps;
  int streams = 1;         // used
  std::vector<int> tails;  // by stream but the first: its last step
};

// In the order of the steps. Time: quadratic in their number.
StreamSchedule schedule_streams(std::span<const StepMemory> steps, int most_streams);

}  // namespace egret::backends::cuda

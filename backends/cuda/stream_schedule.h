// SPDX-License-Identifier: Apache-2.0
// The assignment of a plan's steps to streams.
//
// Two steps depend on each other if one writes memory that the other reads or writes; this includes
// values that share a place one after the other. A step goes to the stream of a step that it
// depends on, if that step is the last one there, else to a free stream. It waits for its other
// dependences on other streams.
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
  int joined_into = -1;  // the number of the joined value; its parts need not wait for each other
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

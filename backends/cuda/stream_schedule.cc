// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/stream_schedule.h"

#include <algorithm>

namespace egret::backends::cuda {
namespace {

bool overlap(const MemoryRange& a, const MemoryRange& b) {
  return a.begin < b.end && b.begin < a.end;
}

// Read after write, write after read, and write after write. Parts of one joined value are
// disjoint, although their ranges are given as the whole.
bool depends(const StepMemory& later, const StepMemory& earlier) {
  const auto reads = [](const StepMemory& step, const MemoryRange& what) {
    return std::ranges::any_of(step.reads, [&](const auto& range) { return overlap(range, what); });
  };
  const bool are_parts = later.joined_into >= 0 && later.joined_into == earlier.joined_into;
  return reads(later, earlier.writes) || reads(earlier, later.writes) ||
         (!are_parts && overlap(later.writes, earlier.writes));
}

// Greedy list scheduling in program order. Each step goes to a stream that ends with one of its
// dependences, since this needs no event. O(steps^2) comparisons.
class Scheduler {
 public:
  Scheduler(std::span<const StepMemory> steps, int most_streams)
      : steps_(steps), most_(static_cast<std::size_t>(std::max(most_streams, 1))) {}

  StreamSchedule run() && {
    for (std::size_t s = 0; s < steps_.size(); ++s) add(s);
    result_.streams = std::max<int>(1, static_cast<int>(tails_.size()));
    // The first stream waits for the last step of each other one, so the end of a run is the end of
    // the first stream.
    for (std::size_t i = 1; i < tails_.size(); ++i) {
      result_.tails.push_back(tails_[i]);
      result_.steps[static_cast<std::size_t>(tails_[i])].is_awaited = true;
    }
    return std::move(result_);
  }

 private:
  ScheduledStep& at(int step) { return result_.steps[static_cast<std::size_t>(step)]; }

  void add(std::size_t s) {
    // The latest dependence on each stream; streams are in order, so earlier ones are done then
    // too.
    std::vector<int> latest(tails_.size(), -1);
    for (std::size_t e = 0; e < s; ++e) {
      if (depends(steps_[s], steps_[e]))
        latest[static_cast<std::size_t>(at(static_cast<int>(e)).stream)] = static_cast<int>(e);
    }
    const std::size_t stream = choose(latest);
    ScheduledStep step;
    step.stream = static_cast<int>(stream);
    for (std::size_t i = 0; i < latest.size(); ++i) {
      // Skip waits that an earlier wait of this stream implies.
      if (i == stream || latest[i] <= seen_[stream][i]) continue;
      step.waits.push_back(latest[i]);
      at(latest[i]).is_awaited = true;
      seen_[stream][i] = latest[i];
    }
    result_.steps.push_back(std::move(step));
    tails_[stream] = static_cast<int>(s);
  }

  // Preference: a stream that ends with a dependence, a new stream, the stream idle for longest.
  std::size_t choose(std::vector<int>& latest) {
    for (std::size_t i = 0; i < latest.size(); ++i) {
      if (latest[i] >= 0 && latest[i] == tails_[i]) return i;
    }
    if (tails_.size() < most_) {
      tails_.push_back(-1);
      latest.push_back(-1);
      for (auto& row : seen_) row.push_back(-1);
      seen_.emplace_back(tails_.size(), -1);
      return tails_.size() - 1;
    }
    // No stream is free: take the one whose last step is the oldest.
    return static_cast<std::size_t>(std::ranges::min_element(tails_) - tails_.begin());
  }

  std::span<const StepMemory> steps_;
  const std::size_t most_;
  StreamSchedule result_;
  std::vector<int> tails_;              // by stream: its last step
  std::vector<std::vector<int>> seen_;  // by stream and other: the latest step waited for
};

}  // namespace

StreamSchedule schedule_streams(std::span<const StepMemory> steps, int most_streams) {
  return Scheduler(steps, most_streams).run();
}

}  // namespace egret::backends::cuda

// SPDX-License-Identifier: Apache-2.0
// The bounds on a run, and the reasons for its end. Reaching a bound is an outcome, not an error:
// the e-graph is rebuilt and valid. Bounds are checked inside the loops of search and application,
// so one explosive rule cannot run far past them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string_view>

namespace egret::egraph {

struct Limits {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t iterations = 30;
  std::uint64_t nodes = 100'000;        // visible nodes
  std::uint64_t bytes = kNone;          // e-graph and match buffers
  std::uint64_t matches = 100'000'000;  // held at one time, all rules together
  std::uint64_t ticks = kNone;          // units of work that repeat from machine to machine
  double seconds = std::numeric_limits<double>::infinity();
};

enum class StopReason : unsigned char {
  kSaturated,  // no rule has anything new to say
  kIterationLimit,
  kNodeLimit,
  kByteLimit,
  kMatchLimit,
  kTickLimit,
  kTimeLimit,
  kHook,      // a hook asked for it
  kConflict,  // the analysis found a contradiction: some rule is unsound (RunReport::conflict)
};

// "saturated", "node limit", ...
std::string_view to_string(StopReason reason);

// Counts work against the tick and time limits. spend() is cheap: it reads the clock about once per
// 2^14 ticks.
class Budget {
 public:
  explicit Budget(const Limits& limits)
      : limits_(limits), start_(std::chrono::steady_clock::now()) {}

  // Spends `ticks`. Returns whether budget is left.
  bool spend(std::uint64_t ticks) {
    ticks_ += ticks;
    if (ticks_ > limits_.ticks) return false;
    return ticks_ < next_clock_ || check_clock();
  }
  // Thread-safe while no thread calls spend().
  std::uint64_t ticks_left() const { return limits_.ticks - std::min(limits_.ticks, ticks_); }
  bool is_late() const {
    return limits_.seconds != std::numeric_limits<double>::infinity() &&
           seconds() > limits_.seconds;
  }
  bool exhausted() { return ticks_ > limits_.ticks || !check_clock(); }
  StopReason reason() const {
    return ticks_ > limits_.ticks ? StopReason::kTickLimit : StopReason::kTimeLimit;
  }
  std::uint64_t ticks() const { return ticks_; }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  bool check_clock() {
    next_clock_ = ticks_ + (std::uint64_t{1} << 14);
    return seconds() <= limits_.seconds;
  }

  const Limits limits_;
  const std::chrono::steady_clock::time_point start_;
  std::uint64_t ticks_ = 0;
  std::uint64_t next_clock_ = 0;
};

}  // namespace egret::egraph

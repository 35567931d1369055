// SPDX-License-Identifier: Apache-2.0
// Monotonic time. Results must never depend on it; only limits, reports and measurements do.
#pragma once

#include <chrono>
#include <limits>

namespace egret::base {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void restart() { start_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// A point in time after which work should end; default-constructed it never comes.
class Deadline {
 public:
  Deadline() = default;
  // Infinite or not-a-number seconds mean never; negative ones mean already past.
  static Deadline after(double seconds) {
    Deadline deadline;
    if (seconds < 1e12) deadline.limit_ = seconds;
    return deadline;
  }

  bool never() const { return limit_ == kForever; }
  bool expired() const { return !never() && watch_.seconds() >= limit_; }
  // Seconds left, not below 0; infinity for never.
  double remaining() const {
    if (never()) return kForever;
    const double left = limit_ - watch_.seconds();
    return left > 0 ? left : 0;
  }

 private:
  static constexpr double kForever = std::numeric_limits<double>::infinity();
  Stopwatch watch_;
  double limit_ = kForever;
};

}  // namespace egret::base

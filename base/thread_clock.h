// SPDX-License-Identifier: Apache-2.0
// Processor time of the calling thread, independent of other threads and programs: for measurements
// while the machine is busy. Results never depend on it.
#pragma once

#include <ctime>

namespace egret::base {

class ThreadStopwatch {
 public:
  // Call it on the thread that created the clock.
  double seconds() const { return now() - start_; }

 private:
  static double now() {
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double start_ = now();
};

}  // namespace egret::base

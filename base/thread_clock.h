// SPDX-License-Identifier: Apache-2.0
// Processor time of the calling thread, which neither other threads nor other programs add to:
// for what is measured while the machine does more than one thing. Results never depend on it.
#pragma once

#include <ctime>

namespace egret::base {

class ThreadStopwatch {
 public:
  // To be asked on the thread that made it.
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

// SPDX-License-Identifier: Apache-2.0
// How busy other processes keep this process's processors. Times that are measured beside them are
// not those of the work alone.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

namespace egret::base {

// Compares the time for which the processors that this process may use were busy with the time that
// this process ran. The difference is other processes, or what a hypervisor took.
class OtherLoad {
 public:
  // The window of an answer. The system counts in steps of 10 ms a processor.
  static constexpr double kLeastSeconds = 0.1;

  OtherLoad() { (void)sample(); }

  // Takes a sample and returns the mean number of processors in use by others since a sample that
  // is at least kLeastSeconds old, the youngest of these. Without one: since the oldest sample, if
  // that is at least half as old. nullopt: it is younger, or the system does not say. Any thread;
  // costs one read of /proc/stat.
  std::optional<double> sample();

 private:
  struct Sample {
    double at_s;
    double busy_s;  // of all processors that this process may use
    double own_s;   // of all its threads
  };
  static std::optional<Sample> now();  // nullopt where the system does not say

  std::mutex mutex_;
  std::deque<Sample> samples_;  // in order of time
};

}  // namespace egret::base

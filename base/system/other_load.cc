// SPDX-License-Identifier: Apache-2.0
#include "base/system/other_load.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

namespace egret::base {

// Lines of /proc/stat: "cpu3 user nice system idle iowait irq softirq steal ...", in clock ticks.
std::optional<OtherLoad::Sample> OtherLoad::now() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return std::nullopt;
  std::ifstream file("/proc/stat");
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  double busy = 0;
  bool any = false;
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    int processor = 0;
    if (line.size() < 4 || line[3] == ' ' || !(words >> processor)) continue;  // all together
    if (processor >= CPU_SETSIZE || !CPU_ISSET(processor, &mine)) continue;
    double ticks[8] = {};
    for (double& value : ticks) words >> value;
    if (!words) return std::nullopt;
    constexpr int kIdle = 3, kWaiting = 4;
    for (int i = 0; i < 8; ++i) busy += i == kIdle || i == kWaiting ? 0 : ticks[i];
    any = true;
  }
  rusage own{};
  if (!any || getrusage(RUSAGE_SELF, &own) != 0) return std::nullopt;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const std::chrono::duration<double> at = std::chrono::steady_clock::now().time_since_epoch();
  return Sample{at.count(), busy / ticks_per_second, seconds(own.ru_utime) + seconds(own.ru_stime)};
}

std::optional<double> OtherLoad::sample() {
  const std::optional<Sample> fresh = now();
  if (!fresh) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  // The youngest sample that is old enough stays in front.
  while (samples_.size() > 1 && fresh->at_s - samples_[1].at_s >= kLeastSeconds)
    samples_.pop_front();
  std::optional<double> load;
  if (!samples_.empty()) {
    const Sample& then = samples_.front();
    const double seconds = fresh->at_s - then.at_s;
    if (seconds >= kLeastSeconds / 2) {
      const double others = (fresh->busy_s - then.busy_s) - (fresh->own_s - then.own_s);
      load = std::max(0.0, others / seconds);
    }
  }
  // Samples in quick succession add nothing.
  if (samples_.empty() || fresh->at_s - samples_.back().at_s >= kLeastSeconds / 10)
    samples_.push_back(*fresh);
  return load;
}

}  // namespace egret::base

// SPDX-License-Identifier: Apache-2.0
// Seconds of the steps of a run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/timer.h"

namespace egret::driver {

class PhaseTimes {
 public:
  // The time since the last call, or since the start, was this phase.
  void end(std::string phase) {
    by_phase_.emplace_back(std::move(phase), phase_.seconds());
    phase_.restart();
  }
  // The same for a phase that contained `inner_s` seconds of another one.
  void end(std::string phase, std::string inner, double inner_s) {
    by_phase_.emplace_back(std::move(phase), phase_.seconds() - inner_s);
    by_phase_.emplace_back(std::move(inner), inner_s);
    phase_.restart();
  }
  double all() const { return all_.seconds(); }
  const std::vector<std::pair<std::string, double>>& by_phase() const { return by_phase_; }

 private:
  base::Stopwatch all_;
  base::Stopwatch phase_;
  std::vector<std::pair<std::string, double>> by_phase_;
};

}  // namespace egret::driver

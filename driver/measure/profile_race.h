// SPDX-License-Identifier: Apache-2.0
// With open sizes: whether a result is no slower than the original at every profile.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/status.h"
#include "driver/measure/race.h"
#include "rules/tensors/open_sizes.h"

namespace egret::driver {

// Medians at one profile.
struct ProfileTimes {
  std::string sizes;  // "batch=8, seq=128"
  double weight = 1;
  double before_s = 0;
  double after_s = 0;
};
// "batch=8, seq=128 (weight 0.3): 1.20 ms -> 980 us".
std::string to_string(const ProfileTimes& times);

// Runs the plans of the program and of the result for these sizes in turns. Errors: those of
// running.
base::Result<ProfileTimes> race_at(const rules::SizeProfile& profile,
                                   const std::array<Racer, 2>& racers, const RaceOptions& racing);

// Whether the result is at no profile slower, beyond the noise of measurements, and not in the
// weighted sum.
bool is_no_slower(const std::vector<ProfileTimes>& times);

}  // namespace egret::driver

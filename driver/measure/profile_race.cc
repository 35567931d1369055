// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/profile_race.h"

#include <algorithm>

#include "base/formats/units.h"
#include "driver/measure/size_check.h"

namespace egret::driver {

std::string to_string(const ProfileTimes& times) {
  return times.sizes + " (weight " + base::format_short(times.weight) +
         "): " + base::format_seconds(times.before_s) + " -> " +
         base::format_seconds(times.after_s);
}

base::Result<ProfileTimes> race_at(const rules::SizeProfile& profile,
                                   const std::array<Racer, 2>& racers, const RaceOptions& racing) {
  EGRET_ASSIGN_OR_RETURN(const RaceResult raced, race(racers, racing));
  return ProfileTimes{.sizes = to_string(profile.sizes),
                      .weight = profile.weight,
                      .before_s = raced.timings[0].median_s,
                      .after_s = raced.timings[1].median_s};
}

bool is_no_slower(const std::vector<ProfileTimes>& times) {
  double before = 0;
  double after = 0;
  for (const ProfileTimes& one : times) {
    before += one.weight * one.before_s;
    after += one.weight * one.after_s;
  }
  const auto slower = [](const ProfileTimes& one) {
    return one.after_s > (1 + kRaceNoise) * one.before_s;
  };
  return std::ranges::none_of(times, slower) && after <= (1 + kRaceNoise) * before;
}

}  // namespace egret::driver

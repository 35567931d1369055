// SPDX-License-Identifier: Apache-2.0
// With open sizes: whether a result is no slower than the original at every profile.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/status.h"
#include "driver/measure/race.h"
#include "ir/evaluate/given_inputs.h"
#include "ir/graph/graph.h"
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

// Runs the program and the result in turns at these sizes, on the given inputs where they fit.
// Errors: those of compiling and running.
base::Result<ProfileTimes> race_at(const rules::SizeProfile& profile, const ir::Graph& program,
                                   const ir::Graph& result, const backends::Backend& backend,
                                   const backends::CompileOptions& plan, RaceOptions racing,
                                   const ir::GivenInputs& given = {});

// Whether the result is at no profile slower, beyond the noise of measurements, and not in the
// weighted sum.
bool is_no_slower(const std::vector<ProfileTimes>& times);

}  // namespace egret::driver

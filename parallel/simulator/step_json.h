// SPDX-License-Identifier: Apache-2.0
// A simulated step as `egret simulate --json` prints it: seconds and bytes; "time" is the mean of
// the devices, "pipeline" has a member for each simulated device.
#pragma once

#include "base/formats/json.h"
#include "parallel/simulator/step_simulation.h"

namespace egret::parallel {

base::Json to_json(const StepSimulation& simulation, const StepReport& report);

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
// The use of each device's time and memory in a simulated step.
#pragma once

#include <vector>

#include "parallel/simulator/step_simulation.h"

namespace egret::parallel {

// The simulator holds the program's graph. FRAGMENTATION: part of activations and workspace that is
// lost beside them. O(tasks log tasks).
std::vector<DeviceReport> device_reports(const StepProgram& program,
                                         const EventSimulator& simulator, double fragmentation);

}  // namespace egret::parallel

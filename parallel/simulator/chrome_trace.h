// SPDX-License-Identifier: Apache-2.0
// A timeline as a trace for chrome://tracing and Perfetto (Trace Event Format): a process for each
// device with a thread for each stream and a counter of its memory, and a process with a counter
// for each link.
#pragma once

#include <string>
#include <vector>

#include "parallel/simulator/plan_simulation.h"
#include "parallel/simulator/step_simulation.h"

namespace egret::parallel {

// JSON; times are in microseconds. Tasks that take no time are left out. O(tasks log tasks).
std::string chrome_trace(const StepSimulation& simulation, const StepReport& report);
std::string chrome_trace(const PlanSimulation& simulation);

// Of a task graph with one device. TASKS: a name for each.
struct TraceLabels {
  std::string device;
  std::vector<std::string> streams, links, tasks;
};
std::string chrome_trace(const EventSimulator& simulator, const TraceLabels& labels);

}  // namespace egret::parallel

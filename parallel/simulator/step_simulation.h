// SPDX-License-Identifier: Apache-2.0
// One training or inference step of a transformer on a system, simulated, and what became of the
// time and the memory of each device.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "parallel/simulator/event_simulator.h"
#include "parallel/simulator/step_program.h"

namespace egret::parallel {

// Each moment of a device belongs to one of these. Their sum is the time of the step.
enum class TimeUse : unsigned char {
  kProducts,        // matrix products
  kMemoryBound,     // other kernels
  kTensorExchange,  // tensor-parallel exchanges inside a pass
  kExpertExchange,  // of tokens with experts, inside a pass
  kSlowdown,        // of computation, by communication beside it
  kExposed,         // communication or copies, while nothing is computed
  kHost,            // the device waits for launches, or for the host between steps
  kBubble           // the device waits for another
};
inline constexpr std::array<std::string_view, 8> kTimeUseNames = {
    "products", "memory-bound", "tensor exchange", "expert exchange", "slowdown",
    "exposed",  "host",         "bubble"};
using SecondsByUse = std::array<double, kTimeUseNames.size()>;

struct MemorySample {
  double time_s;
  double bytes;  // of all kinds
};

struct DeviceReport {
  SecondsByUse seconds{};
  std::array<double, kStepPartNames.size()> part_s{};  // sums of spans, by StepPart
  MemoryByKind peak_bytes{};                           // by kind, at the time of the peak
  double peak_total_bytes = 0;
  double peak_time_s = 0;
  double host_peak_bytes = 0;        // of the device's part of the host
  std::vector<MemorySample> memory;  // at each change
};

struct Distribution {
  double mean = 0, deviation = 0, p50 = 0, p95 = 0, most = 0;
  std::int64_t trials = 0;
};

struct StepReport {
  double seconds = 0;
  double model_flops = 0;
  double mfu = 0;                 // of the devices' peak rates of the setup's precision
  SecondsByUse seconds_by_use{};  // mean of the devices
  std::vector<DeviceReport> devices;
  Distribution distribution;  // of the random steps, with StepOptions::trials

  const DeviceReport& fullest() const;  // the device with the most memory
};

// A program and its timeline.
class StepSimulation {
 public:
  // Errors: those of make_step_program(); limit, on base::stop_requested().
  static base::Result<StepSimulation> make(const System& system, const TrainingSetup& setup,
                                           const StepOptions& options);

  const std::string& system_name() const { return system_name_; }
  const TrainingSetup& setup() const { return setup_; }
  const StepProgram& program() const { return program_; }
  const EventSimulator& simulator() const { return simulator_; }
  EventSimulator& simulator() { return simulator_; }

  // Of the simulator's present timeline, without a distribution. O(tasks log tasks).
  StepReport report() const;
  // Steps whose passes take random time. Each device's passes are slower by max(0, 1 + jitter x),
  // x normal, the most of its tensor and context ranks; a rank is a straggler for the whole step.
  // Unless replicas are simulated each, the step is the slowest of the replicas' independent ones,
  // which is exact where gradients are exchanged at the end. Progress: phase "trials".
  // Errors: limit, on base::stop_requested().
  base::Result<Distribution> sample(base::ProgressSink* progress);

 private:
  StepSimulation(const System& system, const TrainingSetup& setup, const StepOptions& options,
                 StepProgram program, EventSimulator simulator);

  std::string system_name_;
  double peak_flops_per_second_;  // of all devices
  TrainingSetup setup_;
  StepOptions options_;
  StepProgram program_;  // without its graph, which the simulator holds
  EventSimulator simulator_;
};

// With a distribution where OPTIONS ask for trials.
base::Result<StepReport> simulate_step(const System& system, const TrainingSetup& setup,
                                       const StepOptions& options = {},
                                       base::ProgressSink* progress = nullptr);

}  // namespace egret::parallel

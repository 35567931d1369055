// SPDX-License-Identifier: Apache-2.0
// Choices of a simulated step beside those of Megatron (parallel/transformer/training_setup.h).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/options/option_table.h"
#include "base/status.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// What the host holds, or its disks. kWeights: weights, their gradients and the optimizer's state
// (ZeRO-Infinity: Rajbhandari et al., 2021).
enum class Offload : unsigned char {
  kNone,
  kActivations,
  kOptimizer,
  kDisk,  // the optimizer's state
  kWeights,
  kWeightsDisk,
  kActivationsDisk
};

inline constexpr std::array<std::string_view, 7> kOffloadNames = {
    "none",    "activations",  "optimizer",       "optimizer-disk",
    "weights", "weights-disk", "activations-disk"};

// From the one that costs the least time, as a rule.
inline constexpr std::array<Offload, 7> kOffloads = {
    Offload::kNone,    Offload::kOptimizer,       Offload::kActivations, Offload::kDisk,
    Offload::kWeights, Offload::kActivationsDisk, Offload::kWeightsDisk};

inline std::string_view name_of(Offload offload) {
  return kOffloadNames[static_cast<std::size_t>(offload)];
}
inline bool offloads_activations(Offload offload) {
  return offload == Offload::kActivations || offload == Offload::kActivationsDisk;
}
inline bool offloads_weights(Offload offload) {
  return offload == Offload::kWeights || offload == Offload::kWeightsDisk;
}
inline bool offloads_optimizer(Offload offload) {
  return offload == Offload::kOptimizer || offload == Offload::kDisk || offloads_weights(offload);
}
inline bool uses_disks(Offload offload) {
  return offload == Offload::kDisk || offload == Offload::kWeightsDisk ||
         offload == Offload::kActivationsDisk;
}

struct StepOptions {
  bool forward_only = false;
  std::int64_t zero = 0;  // 1: optimizer state, 2: gradients too, 3: weights too, split
  std::int64_t prefetch = 1;
  Offload offload = Offload::kNone;
  double host_bandwidth = 2.5e10;       // between device and host, in each direction
  double host_memory_bandwidth = 1e11;  // of one device's part of the host
  double host_memory = 0;               // bytes of that part; 0: not limited
  double disk_bandwidth = 3e9;          // of that part, in each direction
  bool recorded_launches = false;
  double fragmentation = 0.05;  // of activations and workspace
  bool each_replica = false;

  double jitter = 0;  // standard deviation of a kernel's time, relative to it
  double straggler_share = 0;
  double straggler_slowdown = 1.2;
  std::int64_t trials = 0;
  std::int64_t seed = 1;

  static const base::OptionTable<StepOptions>& table();

  // Errors: usage, for combinations that make no sense.
  base::Status check(const TrainingSetup& setup) const;
  std::int64_t zero_stage(const TrainingSetup& setup) const {
    return setup.distributed_optimizer && zero == 0 ? 1 : zero;
  }
  bool samples() const { return trials > 0; }
  // Bytes a second between a device and where activations or weights are.
  double bandwidth_to(Offload where) const {
    return uses_disks(where) ? std::min(host_bandwidth, disk_bandwidth) : host_bandwidth;
  }
};

// The seconds in which the host updates so many parameters: it reads the gradient, the master
// weight and two moments, and writes the latter and the weight. What is on a disk is read and
// written meanwhile (as in ZeRO-Infinity: Rajbhandari et al., 2021, section 6).
double host_update_s(const TrainingSetup& setup, const StepOptions& options, Offload offload,
                     double parameters);

}  // namespace egret::parallel

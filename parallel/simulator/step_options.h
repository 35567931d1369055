// SPDX-License-Identifier: Apache-2.0
// Choices of a simulated step beside those of Megatron (parallel/transformer/training_setup.h).
#pragma once

#include <cstdint>

#include "base/options/option_table.h"
#include "base/status.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// With kDisk, the optimizer's state is on the host's disk.
enum class Offload : unsigned char { kNone, kActivations, kOptimizer, kDisk };

inline bool offloads_optimizer(Offload offload) {
  return offload == Offload::kOptimizer || offload == Offload::kDisk;
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
};

// The seconds in which the host updates so many parameters: it reads the gradient, the master
// weight and two moments, and writes the latter and the weight. State on a disk is read and written
// meanwhile (as in ZeRO-Infinity: Rajbhandari et al., 2021, section 6).
double host_update_s(const TrainingSetup& setup, const StepOptions& options, Offload offload,
                     double parameters);

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
// A layer of experts of which some live on the accelerator and the others in the memory of the
// host.
//
// A missing expert's weights are copied to the accelerator, or its tokens go to the cores, which
// hold the weights (Kamahori et al., "Fiddler", 2024). The copies follow each other on the link,
// and the accelerator computes an expert when it is there; the cores work meanwhile. So the layer
// takes as long as the longer of the two sides.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "parallel/offload/generation_setup.h"
#include "parallel/system/host.h"

namespace egret::parallel {

struct ActiveExpert {
  double tokens = 0;
  bool resident = false;
};

enum class ExpertRule : unsigned char {
  kTogether,  // the missing experts are divided so that the layer takes least
  kEach,      // each goes where it alone takes less, as in Fiddler
  kCopy,      // all are copied
  kCores      // all go to the cores
};

struct ExpertLayerTime {
  double seconds = 0;
  double copied = 0, on_cores = 0;  // experts
};

// The times of one expert, kept by number of tokens. Not for several threads.
class ExpertTimes {
 public:
  // SYSTEM has a host.
  ExpertTimes(const HostedSystem& system, const GenerationSetup& setup);

  double device_s(double tokens) const;
  // With the way of the tokens there and back.
  double cores_s(double tokens) const;
  double copy_s() const { return copy_s_; }
  double bytes() const { return bytes_; }
  // The least number of tokens for which the copy and the accelerator take less than the cores;
  // 0 where there is none up to MOST.
  std::int64_t crossover(std::int64_t most) const;

  // Up to kMostExact missing experts, kTogether is the best of all subsets. Beyond, the experts
  // with the most tokens are copied, as many as take least.
  static constexpr std::size_t kMostExact = 8;
  ExpertLayerTime layer(const std::vector<ActiveExpert>& active, ExpertRule rule) const;

 private:
  double cores_and_way_s(double tokens) const;

  const HostedSystem& system_;
  const GenerationSetup& setup_;
  const double bytes_, copy_s_;
  mutable std::unordered_map<double, double> device_s_, cores_s_;  // by tokens
};

}  // namespace egret::parallel

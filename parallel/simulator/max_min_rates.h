// SPDX-License-Identifier: Apache-2.0
// Max-min fair rates of flows over links.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parallel/simulator/task_graph.h"

namespace egret::parallel {

struct FairFlow {
  std::span<const LinkId> links;
  double limit;  // of its own; 0: none
};

// Progressive filling (Bertsekas and Gallager, "Data Networks", section 6.5): all rates rise
// together; a flow stops at its limit, or when one of its links is full.
class MaxMinRates {
 public:
  // CAPACITIES, by link, must outlive this object.
  explicit MaxMinRates(const std::vector<double>& capacities);

  // By flow; infinite for a flow without links and limit. The rates of flows that share no links,
  // even through others, do not depend on each other, to the last bit. O(flows x links) in the
  // worst case, whatever the number of unused links is.
  const std::vector<double>& operator()(std::span<const FairFlow> flows);

 private:
  const std::vector<double>& capacities_;
  std::vector<double> left_;           // by link
  std::vector<std::uint32_t> users_;   // by link: flows that still rise
  std::vector<unsigned char> full_;    // by link
  std::vector<std::uint32_t> used_;    // links
  std::vector<std::uint32_t> rising_;  // flows
  std::vector<double> rates_;
};

}  // namespace egret::parallel

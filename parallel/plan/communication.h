// SPDX-License-Identifier: Apache-2.0
// What a plan sends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// The communication of all collectives of one kind along one axis, per rank.
struct Communication {
  std::string collective;
  std::string axis;
  double bytes = 0;
  std::int64_t count = 0;
  double time_s = 0;  // that they take
};

// The bytes that each rank sends in a run, by collective and axis, and the time over the machine's
// links.
std::vector<Communication> communication_of(const PlacedGraph& graph, const Cluster& machine);

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
// The links between accelerators, in tiers: NVLink within a node, a network between nodes.
//
// The time of a collective is the least over the algorithms (ring, tree) and the protocols of NCCL
// (LL, LL128, Simple), as NCCL's tuner chooses (NCCL, src/graph/tuning.cc):
//
//   start + hops * latency of a hop + bytes / bandwidth + ramp * sqrt(bytes / bandwidth)
//
// LL and LL128 have a shorter latency and a fraction of the bandwidth. The last term is the
// filling of the pipeline of chunks, which grows with the size. A ring over several nodes enters
// and leaves each node once, so the m members of a node share m links of the upper tier.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace egret::parallel {

struct Tier {
  std::string name;
  std::int64_t devices = 8;         // in one domain of this tier; 0: any number
  double bytes_per_second = 1e11;   // of one device, in one direction, by the data sheet
  double efficiency = 0.8;          // reached by large messages
  double start_s = 1e-5;            // of a collective
  double hop_s = 3e-6;              // of the protocol Simple
  double ramp = 0;                  // square roots of seconds
  double oversubscription = 1;      // of the switches above: bandwidth is divided by it
  // Direct connections: the part of the links that rings of a group of this size can use, by size.
  std::vector<std::pair<std::int64_t, double>> shares;

  double bandwidth(std::int64_t group) const;  // of one device
};

enum class CollectiveKind : unsigned char {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast
};

// The ranks of a group: first, first + stride, first + 2 stride, ...
struct RankGroup {
  std::int64_t size = 1;
  std::int64_t stride = 1;
};

struct CollectiveTime {
  double latency_s = 0;
  double wire_bytes = 0;        // that each device sends
  double bytes_per_second = 1;  // of each device, without contention
  std::size_t tier = 0;         // the highest that it crosses
  double lenders = 1;           // members of a domain below that tier, which share the bytes over it
  double seconds() const { return latency_s + wire_bytes / bytes_per_second; }
};

class Fabric {
 public:
  std::vector<Tier> tiers;  // from the innermost

  // BYTES: of the complete tensor, as in NCCL's tests. O(tiers).
  CollectiveTime collective(CollectiveKind kind, double bytes, RankGroup group) const;
  // A message between two ranks so far apart.
  CollectiveTime transfer(double bytes, std::int64_t distance) const;
};

}  // namespace egret::parallel

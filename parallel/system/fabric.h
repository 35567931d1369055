// SPDX-License-Identifier: Apache-2.0
// The links between accelerators, in tiers: NVLink within a node, a network between nodes.
//
// The time of a collective is the least over the algorithms that the caller may use and over the
// protocols of NCCL (LL, LL128, Simple), as NCCL's tuner chooses (NCCL, src/graph/tuning.cc):
//
//   start + hops * latency of a hop + w + ramp * sqrt(w),   w = bytes / bandwidth
//
// LL and LL128 have a shorter latency and a fraction of the bandwidth. The last term is the
// filling of the pipeline of chunks, which grows with the size.
//
//   algorithm      bytes that a device sends, n devices, tensor of S bytes        hops
//   ring           2 (n-1)/n S all-reduce, (n-1)/n S gather and scatter           2 (n-1), n-1
//   tree           3 S: an inner device has two children and a parent             2 log2 n
//   double-tree    2 S: inner in one tree of S/2, leaf in the other               2 log2 n
//   hierarchical   a ring inside each domain, then one across domains, of S/m     2 (m-1) + 2
//   (n/m-1) in-network     S: switches add up (NVLS, SHARP)                               2 a tier
//   direct         (n-1)/n S, all-to-all, each to each                            n-1 messages
//   staged         all-to-all inside domains, then between equal places           m-1 + n/m-1
//
// A ring over several nodes enters and leaves each node once, so the m members of a node share m
// links of the upper tier.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "parallel/system/topology.h"

namespace egret::parallel {

struct Tier {
  std::string name;
  std::int64_t devices = 8;        // in one domain of this tier; 0: any number
  double bytes_per_second = 1e11;  // of one device (or link; see Topology), in one direction
  double efficiency = 0.8;         // reached by large messages
  double start_s = 1e-5;           // of a collective
  double hop_s = 3e-6;             // of the protocol Simple
  double ramp = 0;                 // square roots of seconds
  bool in_network = false;         // switches reduce
  Topology topology;
  // Measured parts of the links that rings of a group of this size use, by size.
  std::vector<std::pair<std::int64_t, double>> shares;
};

enum class CollectiveKind : unsigned char {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast
};
inline constexpr std::array<std::string_view, 5> kCollectiveNames = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};
base::Result<CollectiveKind> collective_called(std::string_view name);

enum class CollectiveAlgorithm : unsigned char {
  kRing,
  kTree,
  kDoubleTree,
  kHierarchical,
  kInNetwork,
  kDirect,
  kStaged
};
inline constexpr std::array<std::string_view, 7> kCollectiveAlgorithmNames = {
    "ring", "tree", "double-tree", "hierarchical", "in-network", "direct", "staged"};

enum class WireProtocol : unsigned char { kLl, kLl128, kSimple };
inline constexpr std::array<std::string_view, 3> kWireProtocolNames = {"LL", "LL128", "Simple"};

// The ranks of a group: first, first + stride, first + 2 stride, ...
struct RankGroup {
  std::int64_t size = 1;
  std::int64_t stride = 1;
};

struct CollectiveTime {
  double latency_s = 0;
  double wire_bytes = 0;        // that each device sends
  double bytes_per_second = 1;  // of each device, without contention by other kinds of groups
  std::size_t tier = 0;         // the highest that it crosses
  double lenders = 1;  // members of a domain below that tier, which share the bytes over it
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kRing;
  WireProtocol protocol = WireProtocol::kSimple;
  double seconds() const { return latency_s + wire_bytes / bytes_per_second; }
};

class Fabric {
 public:
  std::vector<Tier> tiers;  // from the innermost

  // BYTES: of the complete tensor, as in NCCL's tests; of all-to-all, what a device sends and
  // keeps. The fastest of NCCL's algorithms: ring, double-tree where there are more than two
  // devices, in-network where all switches reduce, direct. A group of one takes no time. O(tiers).
  CollectiveTime collective(CollectiveKind kind, double bytes, RankGroup group) const;
  // With one algorithm and the fastest protocol; none where the algorithm does not exist for the
  // kind (or, for in-network, on these switches).
  std::optional<CollectiveTime> collective(CollectiveKind kind, double bytes, RankGroup group,
                                           CollectiveAlgorithm algorithm) const;
  // A message between two ranks so far apart.
  CollectiveTime transfer(double bytes, std::int64_t distance) const;
};

}  // namespace egret::parallel

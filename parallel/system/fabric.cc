// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/fabric.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace egret::parallel {
namespace {

using Algorithm = CollectiveAlgorithm;

// Hop latencies relative to Simple on NVLink, and parts of the bandwidth, of NCCL's tuner
// (version 2.12). The flags of LL take half of each 8 bytes, and its polling half of the rest.
struct Protocol {
  double hop, bandwidth;
};
constexpr std::array<Protocol, 3> kProtocols = {{{0.18, 0.25}, {0.56, 0.6}, {1, 1}}};
constexpr double kTreeBandwidth = 0.85;  // of a ring's

// One tier that a group crosses: it joins `joined` domains of the tier below, each with `below`
// members, in each of `domains` domains.
struct Level {
  const Tier* tier;
  std::size_t index;
  std::int64_t joined, below, domains;
};

std::vector<Level> levels_of(const std::vector<Tier>& tiers, RankGroup group) {
  std::vector<Level> levels;
  std::int64_t below = 1;
  for (std::size_t i = 0; i < tiers.size() && below < group.size; ++i) {
    const Tier& tier = tiers[i];
    const std::int64_t members =
        tier.devices == 0 ? group.size
                          : std::min((tier.devices + group.stride - 1) / group.stride, group.size);
    if (members <= below) continue;
    levels.push_back(
        {&tier, i, (members + below - 1) / below, below, (group.size + members - 1) / members});
    below = members;
  }
  return levels;
}

double ring_bandwidth(const Tier& tier, std::int64_t group, std::int64_t joined) {
  double share = 1;
  for (const auto& [size, part] : tier.shares) {
    if (group >= size) share = part;
  }
  return tier.bytes_per_second * tier.efficiency * share * tier.topology.ring_links(joined);
}

double all_to_all_bandwidth(const Tier& tier, std::int64_t group, std::int64_t joined) {
  const double links = tier.topology.all_to_all_links(joined) / tier.topology.ring_links(joined);
  return ring_bandwidth(tier, group, joined) * links;
}

// Bytes that a device of a ring sends, as a part of the tensor, and rounds of the ring.
struct Volume {
  double bytes, rounds;
};
Volume volume_of(CollectiveKind kind, double n) {
  switch (kind) {
    case CollectiveKind::kAllReduce: return {2 * (n - 1) / n, 2};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll: return {(n - 1) / n, 1};
    case CollectiveKind::kBroadcast: return {1, 1};
  }
  return {0, 0};
}

struct Way {  // of an algorithm, before the choice of the protocol
  double start = 0, hops_s = 0, wire_bytes = 0, bandwidth = 0, ramp = 0;
};

bool exists(Algorithm algorithm, CollectiveKind kind, const std::vector<Level>& levels) {
  const bool exchange = kind == CollectiveKind::kAllToAll;
  switch (algorithm) {
    case Algorithm::kRing: return !exchange;
    case Algorithm::kTree:
    case Algorithm::kDoubleTree:
      return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kBroadcast;
    case Algorithm::kHierarchical: return kind != CollectiveKind::kBroadcast && !exchange;
    case Algorithm::kInNetwork:
      return kind == CollectiveKind::kAllReduce &&
             std::ranges::all_of(levels, [](const Level& level) { return level.tier->in_network; });
    case Algorithm::kDirect:
    case Algorithm::kStaged: return exchange;
  }
  return false;
}

// What all members of a group do together, in one pipeline over the tiers.
Way joint_way(Algorithm algorithm, CollectiveKind kind, double bytes,
              const std::vector<Level>& levels, std::int64_t size) {
  const auto n = static_cast<double>(size);
  const Volume volume = volume_of(kind, n);
  Way way;
  way.bandwidth = std::numeric_limits<double>::infinity();
  way.wire_bytes = bytes * volume.bytes;
  double slowest = 0;  // of all-to-all, for one byte
  for (const Level& level : levels) {
    const Tier& tier = *level.tier;
    const auto joined = static_cast<double>(level.joined);
    const auto below = static_cast<double>(level.below);
    const double hop = tier.hop_s * tier.topology.hops(level.joined);
    way.start = std::max(way.start, tier.start_s);
    way.ramp = std::max(way.ramp, tier.ramp);
    const double ring = ring_bandwidth(tier, size, level.joined) * below;
    switch (algorithm) {
      case Algorithm::kRing:
        way.hops_s += hop * volume.rounds * (joined - 1) * static_cast<double>(level.domains);
        way.bandwidth = std::min(way.bandwidth, ring);
        break;
      case Algorithm::kTree:
      case Algorithm::kDoubleTree:
        way.hops_s += hop * volume.rounds * std::ceil(std::log2(joined));
        way.bandwidth = std::min(way.bandwidth, ring * kTreeBandwidth);
        break;
      case Algorithm::kInNetwork:
        way.hops_s += 2 * hop;
        // Each member adds up its part of a domain's sum in the switch above.
        way.bandwidth = std::min(way.bandwidth, ring);
        way.wire_bytes = bytes;
        break;
      case Algorithm::kDirect: {
        // Bytes for members of other domains; each has a message of its own.
        way.hops_s += hop * (joined - 1) * below;
        const double leaving = (joined - 1) * below / n;
        slowest = std::max(slowest, leaving / all_to_all_bandwidth(tier, size, level.joined));
        break;
      }
      case Algorithm::kHierarchical:
      case Algorithm::kStaged: break;
    }
  }
  if (algorithm == Algorithm::kDirect) way.bandwidth = volume.bytes / slowest;
  if (algorithm == Algorithm::kTree || algorithm == Algorithm::kDoubleTree) {
    const bool reduces = kind == CollectiveKind::kAllReduce;
    // A broadcast's inner device sends to its two children, in one tree or of half in one of two.
    const double once = algorithm == Algorithm::kTree ? 2 : 1;
    way.wire_bytes = bytes * (reduces ? once + 1 : once);
  }
  return way;
}

// Tier by tier, with the parts that are left after the tiers below.
Way staged_way(Algorithm algorithm, CollectiveKind kind, double bytes,
               const std::vector<Level>& levels, std::int64_t size) {
  Way way;
  // For one byte: an empty tensor has rates too.
  double seconds = 0, sent = 0;
  double left = 1;
  for (const Level& level : levels) {
    const Tier& tier = *level.tier;
    const auto joined = static_cast<double>(level.joined);
    const Volume volume = volume_of(kind, joined);
    const double bandwidth = algorithm == Algorithm::kStaged
                                 ? all_to_all_bandwidth(tier, size, level.joined)
                                 : ring_bandwidth(tier, size, level.joined);
    way.start += tier.start_s;
    way.hops_s += tier.hop_s * tier.topology.hops(level.joined) * volume.rounds * (joined - 1);
    way.ramp = std::max(way.ramp, tier.ramp);
    sent += left * volume.bytes;
    seconds += left * volume.bytes / bandwidth;
    if (algorithm == Algorithm::kHierarchical) left /= joined;
  }
  way.wire_bytes = bytes * sent;
  way.bandwidth = sent / seconds;
  return way;
}

}  // namespace

base::Result<CollectiveKind> collective_called(std::string_view name) {
  const auto* found = std::ranges::find(kCollectiveNames, name);
  if (found == kCollectiveNames.end())
    return base::bad_input("unknown collective '" + std::string(name) + "'");
  return static_cast<CollectiveKind>(found - kCollectiveNames.begin());
}

std::optional<CollectiveTime> Fabric::collective(CollectiveKind kind, double bytes, RankGroup group,
                                                 CollectiveAlgorithm algorithm) const {
  const std::vector<Level> levels = levels_of(tiers, group);
  if (!exists(algorithm, kind, levels)) return std::nullopt;
  CollectiveTime best;
  best.algorithm = algorithm;
  if (group.size <= 1 || levels.empty()) return best;
  const bool stages = algorithm == Algorithm::kHierarchical || algorithm == Algorithm::kStaged;
  const Way way = stages ? staged_way(algorithm, kind, bytes, levels, group.size)
                         : joint_way(algorithm, kind, bytes, levels, group.size);
  best.tier = levels.back().index;
  best.lenders = kind == CollectiveKind::kAllToAll ? 1 : static_cast<double>(levels.back().below);
  best.wire_bytes = way.wire_bytes;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kProtocols.size(); ++i) {
    const double rate = way.bandwidth * kProtocols[i].bandwidth;
    const double latency =
        way.start + way.hops_s * kProtocols[i].hop + way.ramp * std::sqrt(way.wire_bytes / rate);
    if (latency + way.wire_bytes / rate >= least) continue;
    least = latency + way.wire_bytes / rate;
    best.latency_s = latency;
    best.bytes_per_second = rate;
    best.protocol = static_cast<WireProtocol>(i);
  }
  return best;
}

CollectiveTime Fabric::collective(CollectiveKind kind, double bytes, RankGroup group) const {
  CollectiveTime best;
  if (group.size <= 1) return best;
  double least = std::numeric_limits<double>::infinity();
  for (const Algorithm algorithm :
       {Algorithm::kRing, Algorithm::kDoubleTree, Algorithm::kInNetwork, Algorithm::kDirect}) {
    if (algorithm == Algorithm::kDoubleTree && group.size == 2) continue;  // it is the ring
    const auto time = collective(kind, bytes, group, algorithm);
    if (!time || time->seconds() >= least) continue;
    least = time->seconds();
    best = *time;
  }
  return best;
}

CollectiveTime Fabric::transfer(double bytes, std::int64_t distance) const {
  CollectiveTime result;
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    result.tier = i;
    if (tiers[i].devices == 0 || distance < tiers[i].devices) break;
  }
  const Tier& tier = tiers[result.tier];
  result.latency_s = tier.start_s / 2 + tier.hop_s * tier.topology.hops(2);
  result.wire_bytes = bytes;
  result.bytes_per_second = ring_bandwidth(tier, 2, 2);
  return result;
}

}  // namespace egret::parallel

// SPDX-License-Identifier: Apache-2.0
#include "parallel/system/fabric.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace egret::parallel {
namespace {

// Hop latencies relative to Simple on NVLink, and bandwidths, of NCCL's tuner (version 2.12).
struct Protocol {
  double hop, bandwidth;
};
constexpr std::array<Protocol, 3> kProtocols = {{{0.18, 0.25}, {0.56, 0.6}, {1, 1}}};
constexpr double kTreeBandwidth = 0.85;  // of a ring's

// Members of the group in one domain of each tier, and the number of such domains that it spans.
struct Span {
  std::int64_t members;
  std::int64_t domains;
};
Span span_in(const Tier& tier, RankGroup group) {
  if (tier.devices == 0) return {group.size, 1};
  const std::int64_t members =
      std::clamp<std::int64_t>(tier.devices / group.stride, 1, group.size);
  return {members, (group.size + members - 1) / members};
}

struct Volume {
  double steps, bytes;  // of a ring, as factors of (n - 1) and of the tensor
};
Volume volume_of(CollectiveKind kind, double n) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {2 * (n - 1), 2 * (n - 1) / n};
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return {n - 1, (n - 1) / n};
    case CollectiveKind::kAllToAll:
      return {1, (n - 1) / n};
    case CollectiveKind::kBroadcast:
      return {n - 1, 1};
  }
  return {0, 0};
}

}  // namespace

double Tier::bandwidth(std::int64_t group) const {
  double share = 1;
  for (const auto& [size, part] : shares) {
    if (group >= size) share = part;
  }
  return bytes_per_second * efficiency * share / oversubscription;
}

CollectiveTime Fabric::collective(CollectiveKind kind, double bytes, RankGroup group) const {
  CollectiveTime best;
  if (group.size <= 1) return best;
  const auto n = static_cast<double>(group.size);
  const Volume volume = volume_of(kind, n);
  // The slowest link bounds the rate. Tier i connects domains of tier i - 1.
  double bandwidth = std::numeric_limits<double>::infinity();
  double hops = 0, tree_hops = 0, ramp = 0, start = 0;
  std::int64_t below = 1;          // members in a domain of the tier below
  std::int64_t left = group.size;  // domains of the tier below that the group spans
  for (std::size_t i = 0; i < tiers.size() && left > 1; ++i) {
    const Tier& tier = tiers[i];
    const Span span = span_in(tier, group);
    if (span.members > below) {
      const auto inside = static_cast<double>(span.members / below);
      // An all-to-all sends to each peer once, so the members of a domain do not lend their links.
      const double lent = kind == CollectiveKind::kAllToAll ? 1 : static_cast<double>(below);
      bandwidth = std::min(bandwidth, tier.bandwidth(group.size) * lent);
      const double domains = static_cast<double>(span.domains);
      hops += tier.hop_s * volume.steps * (inside - 1) / std::max(1.0, n - 1) * domains;
      tree_hops += tier.hop_s * std::ceil(std::log2(inside)) * 2;
      ramp = std::max(ramp, tier.ramp);
      start = std::max(start, tier.start_s);
      best.tier = i;
      best.lenders = lent;
    }
    below = span.members;
    left = span.domains;
  }
  best.wire_bytes = bytes * volume.bytes;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](double latency, double rate) {
    const double filling = ramp * std::sqrt(best.wire_bytes / rate);
    const double seconds = latency + filling + best.wire_bytes / rate;
    if (seconds >= least) return;
    least = seconds;
    best.latency_s = latency + filling;
    best.bytes_per_second = rate;
  };
  for (const Protocol& protocol : kProtocols) {
    consider(start + hops * protocol.hop, bandwidth * protocol.bandwidth);
    if (kind == CollectiveKind::kAllReduce && group.size > 2)
      consider(start + tree_hops * protocol.hop, bandwidth * protocol.bandwidth * kTreeBandwidth);
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
  result.latency_s = tier.start_s / 2 + tier.hop_s;
  result.wire_bytes = bytes;
  result.bytes_per_second = tier.bandwidth(2);
  return result;
}

}  // namespace egret::parallel
